"""Which Spark wrote an offset entry, told from the confs that it pinned. A fair guess, never a proof."""

from collections.abc import Iterable

_STREAMING = "spark.sql.streaming."

_NEW_KEYS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "4.3",
        frozenset(
            {
                "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
                _STREAMING + "statefulOperator.alwaysNullableOutput.enabled",
            }
        ),
    ),
    (
        "4.2",
        frozenset(
            {
                _STREAMING + "stateStore.rocksdb.mergeOperatorVersion",
                _STREAMING + "stateStore.rowChecksum.enabled",
                _STREAMING + "queryEvolution.enableSourceEvolution",
                "spark.sql.function.protobufExtensions.enabled",
            }
        ),
    ),
    ("4.0", frozenset({_STREAMING + "stateStore.encodingFormat"})),
    ("3.5", frozenset({"spark.sql.shuffle.partitions", _STREAMING + "stateStore.providerClass"})),
)
"""Keys that a version writes and the one before did not (OffsetSeqMetadata, seen in real files); newest first, because
each version writes the older ones' keys as well."""


def spark_fingerprint(conf_keys: Iterable[str]) -> str:
    """`3.5`, `4.0`, `4.2` or `4.3` by the newest key that is known; empty when none is.

    `4.0` stands for 4.0 and 4.1, which pin the same keys; `3.5` for everything older as well, `4.3` for everything newer.
    """
    keys = frozenset(conf_keys)
    return next((version for version, new in _NEW_KEYS if keys & new), "")


def first_with(conf_key: str) -> str:
    """The first Spark that pins a setting; `3.5` for all that are older."""
    return next((version for version, new in _NEW_KEYS if conf_key in new), "3.5")
