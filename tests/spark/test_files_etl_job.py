"""J13 over real files of each format: every good line is a row once, every bad one a dead letter, also after a restart."""

from collections import Counter
from pathlib import Path

import pytest

from streamops.control.assignment import FilesInput
from streamops.spark import StreamContext
from streamops_sandbox.inputs.order_files import expected_bad_lines, expected_orders, files, put
from support.assignments import an_assignment
from support.job_frames import load_job

pytestmark = pytest.mark.spark

JOB = load_job("files_etl")
COLUMNS = "order_id BIGINT, customer STRING, amount DECIMAL(38,18), status STRING, event_time TIMESTAMP"
DECLARED = {
    "json": FilesInput(path="", format="text", schema=""),
    "csv": FilesInput(
        path="",
        format="csv",
        schema=f"{COLUMNS}, _corrupt_record STRING",
        options=(("header", "true"), ("columnNameOfCorruptRecord", "_corrupt_record")),
    ),
    "parquet": FilesInput(path="", format="parquet", schema=COLUMNS),
}


class Etl:
    """The job over one folder, run with all that is there at that moment."""

    def __init__(self, spark, root: Path, kind: str) -> None:
        self.landing, self._spark, self._root, self._kind = root / "landing", spark, root, kind

    def run(self) -> None:
        declared = DECLARED[self._kind]
        source = FilesInput(
            path=f"file://{self.landing}/{self._kind}",
            format=declared.format,
            schema=declared.schema,
            options=(*declared.options, ("maxFilesPerTrigger", "2")),
        )
        addresses = {"table": self._address("orders"), "dead_letters": self._address("letters")}
        stream = StreamContext(an_assignment(source=source, **addresses))
        writers = (JOB.define(self._spark, stream), *stream.companions)
        for number, writer in enumerate(writers):
            checkpoint = self._address(f"checkpoint-{number}")
            writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

    def die_before_the_last_commit(self) -> None:
        """As a driver leaves it that is killed between its write and its commit."""
        for commits in self._root.glob("checkpoint-*/commits"):
            last = max(int(name.name) for name in commits.iterdir() if name.name.isdigit())
            for name in (str(last), f".{last}.crc"):
                (commits / name).unlink(missing_ok=True)

    def orders(self) -> list[tuple[object, ...]]:
        rows = self._spark.read.format("delta").load(self._address("orders"))
        columns = "order_id", "customer", "amount", "status", "unix_millis(event_time) AS at"
        return sorted(tuple(row) for row in rows.selectExpr(*columns).collect())

    def bad_lines(self) -> dict[str, int]:
        """How many dead letters each file has."""
        rows = self._spark.read.format("delta").load(self._address("letters")).collect()
        return dict(Counter("/".join(row.file.split("/")[-2:]) for row in rows))

    def _address(self, name: str) -> str:
        return f"file://{self._root}/{name}"


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_every_line_is_an_order_or_a_dead_letter_once_over_a_restart(spark, tmp_path, kind):
    made = files(formats=[kind], count=4, rows=20, bad=0.1)
    etl = Etl(spark, tmp_path, kind)

    put([file for file in made if file.wave == 0], etl.landing)
    etl.run()
    etl.die_before_the_last_commit()
    put([file for file in made if file.wave == 1], etl.landing)
    etl.run()

    assert etl.orders() == [
        (row.order_id, row.customer, row.amount, row.status, round(row.event_time.timestamp() * 1000))
        for row in expected_orders(made)
    ]
    assert etl.bad_lines() == expected_bad_lines(made)


GOOD = b'"customer": "c-1", "status": "paid", "event_time": "2026-03-01T12:00:00Z"'


def test_no_line_of_json_is_lost_or_rounded_in_silence(spark, tmp_path):
    two = b'{"order_id": 1, "amount": "1.00", %b}{"order_id": 2, "amount": "2.00", %b}' % (GOOD, GOOD)
    part_of_a_cent = b'{"order_id": 3, "amount": "1.005", %b}' % GOOD
    no_text = b'{"order_id": 4, "amount": "1.00", "x": "\xff", %b}' % GOOD
    file = tmp_path / "a.json"
    file.write_bytes(b"\n".join([two, part_of_a_cent, no_text, b"", b"  "]))

    parsed = JOB.parse(spark.read.text(f"file://{file}"))

    assert JOB.orders(parsed).collect() == []
    assert sorted((row.reason, row.text) for row in JOB.dead_letters(parsed).collect()) == [
        ("the amount does not fit into cents", part_of_a_cent.decode()),
        ("the record is not one JSON object", two.decode()),
        ("the record is not valid UTF-8", no_text.decode(errors="replace")),
    ]


def test_a_line_of_csv_that_does_not_fit_keeps_its_text(spark, tmp_path):
    file = tmp_path / "a.csv"
    rows = "seven,c-1,1.00,paid,{at}\n7,c-1,1.005,paid,{at}\n8,,1.00,paid,{at}\n".replace(
        "{at}", "2026-03-01T12:00:00Z"
    )
    file.write_text("order_id,customer,amount,status,event_time\n" + rows)
    declared = DECLARED["csv"]

    parsed = JOB.parse(spark.read.schema(declared.schema).options(**dict(declared.options)).csv(f"file://{file}"))

    found = [(row.reason, row.file, row.text) for row in JOB.dead_letters(parsed).collect()]
    assert [reason for reason, _, _ in found] == [
        "the line does not fit the declared columns",
        "the amount does not fit into cents",
        "customer is missing or not a string",
    ]
    assert found[0] == (
        "the line does not fit the declared columns",
        f"file:{file}",
        "seven,c-1,1.00,paid,2026-03-01T12:00:00Z",
    )
