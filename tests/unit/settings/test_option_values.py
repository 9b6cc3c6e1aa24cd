"""Values that each start of a query fails on, and those that Spark takes; tried on Spark 4.2.0 and Delta 4.4."""

import pytest

from streamops.settings.refusals import (
    CUSTOM_OPTIONS,
    DELTA_OPTIONS,
    FILES_OPTIONS,
    KAFKA_OPTIONS,
    SPARK_CONF,
    unfit_value,
)

TAKEN = [
    (KAFKA_OPTIONS, "failondataloss", ["true", "FALSE"]),
    (KAFKA_OPTIONS, "startingoffsets", ["earliest", "Latest", '{"orders":{"0":23,"1":-2}}']),
    (KAFKA_OPTIONS, "startingoffsetsbytimestamp", ['{"orders":{"0":1772366400000}}']),
    (KAFKA_OPTIONS, "maxtriggerdelay", ["15m", "30 s", "1d"]),
    (KAFKA_OPTIONS, "maxoffsetspertrigger", ["1", "+5"]),
    (KAFKA_OPTIONS, "fetchoffset.numretries", ["0", "3"]),
    (FILES_OPTIONS, "maxfileage", ["7d", "604800s"]),
    (FILES_OPTIONS, "cleansource", ["archive", "DELETE", "off"]),
    (FILES_OPTIONS, "discardcachedinputratio", ["0.2", "1"]),
    (DELTA_OPTIONS, "maxbytespertrigger", ["10g", "1048576", "5 mb"]),
    (DELTA_OPTIONS, "startingversion", ["latest", "0", "17"]),
    (DELTA_OPTIONS, "startingtimestamp", ["2026-03-01", "2026-03-01T12:00:00Z"]),
    (SPARK_CONF, "spark.sql.streaming.multipleWatermarkPolicy", ["min", "MAX"]),
    (SPARK_CONF, "spark.sql.streaming.stopTimeout", ["0", "30s"]),
]
REFUSED = [
    (KAFKA_OPTIONS, "failondataloss", ["yes", "1", ""]),
    (KAFKA_OPTIONS, "startingoffsets", ["erliest", "", "{", "[]", '{"orders":{"0":"5"}}', '{"orders":5}']),
    (KAFKA_OPTIONS, "startingtimestamp", ["x", "2024-01-01"]),
    (KAFKA_OPTIONS, "startingoffsetsbytimestamp", ["{", "5"]),
    (KAFKA_OPTIONS, "startingoffsetsbytimestampstrategy", ["foo"]),
    (KAFKA_OPTIONS, "endingoffsets", ["latest"]),
    (KAFKA_OPTIONS, "maxrecordsperpartition", ["0", "x"]),
    (KAFKA_OPTIONS, "maxtriggerdelay", ["x"]),
    (KAFKA_OPTIONS, "kafka.isolation.level", ["dirty", "READ_COMMITTED"]),
    (CUSTOM_OPTIONS["rate"], "numpartitions", ["0", "x"]),
    (CUSTOM_OPTIONS["rate"], "rampuptime", ["x", "-1s"]),
    (CUSTOM_OPTIONS["rate-micro-batch"], "rowsperbatch", ["0", ""]),
    (KAFKA_OPTIONS, "maxoffsetspertrigger", ["0", "-1", "5.5", "1g"]),
    (FILES_OPTIONS, "maxbytespertrigger", ["1g", "0"]),
    (FILES_OPTIONS, "maxfileage", ["x", "-1d"]),
    (FILES_OPTIONS, "latestfirst", ["x"]),
    (FILES_OPTIONS, "cleansource", ["x"]),
    (FILES_OPTIONS, "maxcachedfiles", ["-1"]),
    (FILES_OPTIONS, "discardcachedinputratio", ["2", "x"]),
    (FILES_OPTIONS, "modifiedafter", ["2024-01-01"]),
    (DELTA_OPTIONS, "startingversion", ["x", "-1"]),
    (DELTA_OPTIONS, "maxbytespertrigger", ["1x", "0"]),
    (DELTA_OPTIONS, "excluderegex", ["["]),
    (DELTA_OPTIONS, "ignorechanges", ["x"]),
    (SPARK_CONF, "spark.sql.shuffle.partitions", ["0", "x"]),
    (SPARK_CONF, "spark.sql.streaming.minBatchesToRetain", ["0", "-1"]),
    (SPARK_CONF, "spark.sql.streaming.stateStore.checkpointFormatVersion", ["3"]),
    (SPARK_CONF, "spark.sql.streaming.noDataMicroBatches.enabled", ["maybe"]),
]


def each(cases):
    return [pytest.param(forms, name, value, id=f"{name}={value}") for forms, name, values in cases for value in values]


@pytest.mark.parametrize(("forms", "name", "value"), each(TAKEN))
def test_what_spark_takes_passes(forms, name, value):
    assert unfit_value(forms, name, value) == ""


@pytest.mark.parametrize(("forms", "name", "value"), each(REFUSED))
def test_what_no_start_gets_past_is_refused_with_what_is_expected(forms, name, value):
    assert unfit_value(forms, name, value)


def test_an_option_that_nobody_here_knows_is_spark_s_to_judge():
    assert unfit_value(KAFKA_OPTIONS, "kafka.fetch.max.bytes", "x") == ""
