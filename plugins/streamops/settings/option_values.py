"""What the values of options and settings must look like, lest each start of the query fails on them.

Tried on Spark 4.2.0 and Delta 4.4. Names are in lower case, as Spark takes option names in any case; settings are not. What is
not listed here is Spark's to judge.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueForm:
    """What a value must be."""

    wanted: str
    """In the words of a message: `true or false`."""
    fits: Callable[[str], bool]


def _matches(pattern: str) -> Callable[[str], bool]:
    form = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda text: form.fullmatch(text) is not None


def _is_start(text: str) -> bool:
    return text.strip().lower() in ("earliest", "latest") or _has_numbers_by_partition(text)


def _has_numbers_by_partition(text: str) -> bool:
    """`{"orders":{"0":23}}`."""
    try:
        topics = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(topics, dict) and all(
        isinstance(partitions, dict)
        and all(_is_partition(name) and type(number) is int for name, number in partitions.items())
        for partitions in topics.values()
    )


_is_partition = _matches(r"[0-9]{1,10}")


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def _is_pattern(text: str) -> bool:
    """Java's patterns are not Python's: only what is none in both is told."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _one_of(*values: str) -> ValueForm:
    return ValueForm(wanted=" or ".join(values), fits=lambda text: text.strip().lower() in values)


def _never(instead: str) -> ValueForm:
    return ValueForm(wanted=instead, fits=lambda text: False)


FLAG = _one_of("true", "false")
COUNT = ValueForm(wanted="a whole number above 0", fits=_matches(r"\s*\+?0*[1-9][0-9]{0,18}\s*"))
WHOLE = ValueForm(wanted="a whole number, 0 or more", fits=_matches(r"\s*\+?[0-9]{1,19}\s*"))
LIMIT = ValueForm(
    wanted="a number above 0: with 0 a run ends well and has read nothing, with less each start fails", fits=COUNT.fits
)
BYTES = ValueForm(wanted="a whole number of bytes above 0: the source of files takes no unit", fits=COUNT.fits)
SIZE = ValueForm(
    wanted="a number of bytes above 0, with a unit or without: 10g",
    fits=_matches(r"\s*0*[1-9][0-9]{0,18}\s*[bkmgtp]?b?\s*"),
)
DURATION = ValueForm(
    wanted="a time with its unit: 30s, 10min, 7d", fits=_matches(r"\s*[0-9]{1,18}\s*(us|ms|s|m|min|h|d)?\s*")
)
NO_END = _never("no such option: a stream has no end, Spark refuses it; `streamops backfill` reads a range")
PARTITION_TIMES = ValueForm(
    wanted='milliseconds by partition: {"orders":{"0":1772366400000}}', fits=_has_numbers_by_partition
)

KAFKA_OPTIONS: Mapping[str, ValueForm] = {
    "maxoffsetspertrigger": LIMIT,
    "minoffsetspertrigger": LIMIT,
    "minpartitions": LIMIT,
    "maxrecordsperpartition": COUNT,
    "maxtriggerdelay": DURATION,
    "failondataloss": FLAG,
    "includeheaders": FLAG,
    "startingoffsets": ValueForm(
        wanted='earliest, latest, or offsets by partition: {"orders":{"0":23,"1":-2}}, -2 for earliest, -1 for latest',
        fits=_is_start,
    ),
    "startingtimestamp": ValueForm(wanted="milliseconds since 1970: 1772366400000", fits=WHOLE.fits),
    "startingoffsetsbytimestamp": PARTITION_TIMES,
    "startingoffsetsbytimestampstrategy": _one_of("error", "latest"),
    "endingoffsets": NO_END,
    "endingtimestamp": NO_END,
    "endingoffsetsbytimestamp": NO_END,
    "kafka.isolation.level": ValueForm(
        wanted="read_committed or read_uncommitted",
        fits=lambda text: text.strip() in ("read_committed", "read_uncommitted"),
    ),
    "kafkaconsumer.polltimeoutms": WHOLE,
    "fetchoffset.numretries": WHOLE,
    "fetchoffset.retryintervalms": WHOLE,
}
FILES_OPTIONS: Mapping[str, ValueForm] = {
    "maxfilespertrigger": LIMIT,
    "maxbytespertrigger": BYTES,
    "maxfileage": DURATION,
    "latestfirst": FLAG,
    "filenameonly": FLAG,
    "cleansource": _one_of("archive", "delete", "off"),
    "maxcachedfiles": WHOLE,
    "discardcachedinputratio": ValueForm(wanted="a number from 0 to 1", fits=_is_share),
    "modifiedbefore": _never("no such option: Spark refuses it in a stream, whose files all come later"),
    "modifiedafter": _never("no such option: Spark refuses it in a stream; keep what is older out of the folder"),
    "multiline": FLAG,
    "recursivefilelookup": FLAG,
}
DELTA_OPTIONS: Mapping[str, ValueForm] = {
    "maxfilespertrigger": LIMIT,
    "maxbytespertrigger": SIZE,
    "startingversion": ValueForm(
        wanted="latest, or a version of the table, 0 or more", fits=_matches(r"\s*(latest|[0-9]{1,19})\s*")
    ),
    "startingtimestamp": ValueForm(wanted="a date or a time: 2026-03-01", fits=_matches(r"\s*[0-9]{4}-[0-9]{1,2}.*")),
    "ignorechanges": FLAG,
    "ignoredeletes": FLAG,
    "skipchangecommits": FLAG,
    "readchangefeed": FLAG,
    "failondataloss": FLAG,
    "excluderegex": ValueForm(wanted="a regular expression", fits=_is_pattern),
}
CUSTOM_OPTIONS: Mapping[str, Mapping[str, ValueForm]] = {
    "rate": {"rowspersecond": COUNT, "numpartitions": COUNT, "rampuptime": DURATION},
    "rate-micro-batch": {
        "rowsperbatch": COUNT,
        "numpartitions": COUNT,
        "starttimestamp": WHOLE,
        "advancemillisperbatch": WHOLE,
    },
}
"""By the name of the source."""
SPARK_CONF: Mapping[str, ValueForm] = {
    "spark.sql.shuffle.partitions": COUNT,
    "spark.sql.streaming.minBatchesToRetain": COUNT,
    "spark.sql.streaming.multipleWatermarkPolicy": _one_of("min", "max"),
    "spark.sql.streaming.noDataMicroBatches.enabled": FLAG,
    "spark.sql.streaming.stateStore.checkpointFormatVersion": _one_of("1", "2"),
    "spark.sql.streaming.offsetLog.formatVersion": _one_of("1", "2"),
    "spark.sql.streaming.fileSource.log.compactInterval": COUNT,
    "spark.sql.streaming.fileSink.log.compactInterval": COUNT,
    "spark.sql.streaming.stateStore.maintenanceInterval": DURATION,
    "spark.sql.streaming.stopTimeout": DURATION,
}


def unfit_value(forms: Mapping[str, ValueForm], name: str, value: str) -> str:
    """What is expected instead of a value; empty where it fits, or nothing is known of the name."""
    form = forms.get(name)
    return "" if form is None or form.fits(value) else form.wanted
