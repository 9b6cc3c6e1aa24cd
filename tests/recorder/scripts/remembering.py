"""An operator of the user's own, `transformWithStateInPandas` (4.0 on): counts rows by key and keeps the last one."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


class Remembering(StatefulProcessor):
    """Two variables of state, a value and a list."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n long")
        self._seen = handle.getListState("seen", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        numbers = [int(n) for frame in rows for n in frame["n"]]
        before = self._count.get()[0] if self._count.exists() else 0
        self._count.update((before + len(numbers),))
        self._seen.appendList([(n,) for n in numbers])
        yield pd.DataFrame({"k": [key[0]], "n": [before + len(numbers)]})

    def close(self) -> None:
        pass


def remembered(rows: DataFrame) -> DataFrame:
    """The rows by key, through the operator."""
    return rows.groupBy("k").transformWithStateInPandas(
        statefulProcessor=Remembering(), outputStructType="k string, n long", outputMode="Update", timeMode="None"
    )
