"""Which Spark wrote an entry: the keys of real files, by version."""

import pytest

from streamops.checkpoint.offsets import spark_fingerprint

STREAMING = "spark.sql.streaming."
ALL = [
    "spark.sql.shuffle.partitions",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
    *(
        STREAMING + key
        for key in (
            "stateStore.providerClass",
            "multipleWatermarkPolicy",
            "flatMapGroupsWithState.stateFormatVersion",
            "aggregation.stateFormatVersion",
            "join.stateFormatVersion",
            "stateStore.compression.codec",
            "stateStore.rocksdb.formatVersion",
            "statefulOperator.useStrictDistribution",
        )
    ),
]
SINCE_4_0 = [*ALL, STREAMING + "stateStore.encodingFormat"]
SINCE_4_2 = [
    *SINCE_4_0,
    STREAMING + "stateStore.rocksdb.mergeOperatorVersion",
    STREAMING + "stateStore.rowChecksum.enabled",
    STREAMING + "queryEvolution.enableSourceEvolution",
    "spark.sql.function.protobufExtensions.enabled",
]
SINCE_4_3 = [
    *SINCE_4_2,
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
    STREAMING + "statefulOperator.alwaysNullableOutput.enabled",
]


@pytest.mark.parametrize(
    ("keys", "version"),
    [
        pytest.param(ALL, "3.5", id="3.5"),
        pytest.param(SINCE_4_0, "4.0", id="4.0 and 4.1"),
        pytest.param(SINCE_4_2, "4.2", id="4.2"),
        pytest.param(SINCE_4_3, "4.3", id="4.3"),
        pytest.param([*SINCE_4_3, "spark.sql.something.new"], "4.3", id="a newer one is at least 4.3"),
        pytest.param(["spark.sql.something.else"], "", id="no known key"),
        pytest.param([], "", id="no conf at all"),
    ],
)
def test_the_newest_known_key_tells_the_version(keys, version):
    assert spark_fingerprint(reversed(keys)) == version
