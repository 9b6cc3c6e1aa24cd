"""J19: its writer by itself, and on trial. Each record is in one line, although batches were cut between their partitions."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import Row

from streamops.storage.address import local_path
from streamops_sandbox.catalogue.cases import case_of
from support.job_frames import load_job
from support.job_trial import JobTrial


@pytest.fixture(scope="module")
def job() -> ModuleType:
    return load_job("row_by_row_sink")


def test_a_partition_is_a_file_with_a_line_for_each_row(job: ModuleType, tmp_path: Path) -> None:
    writer = job.FileOfLines(f"file://{tmp_path}/out")

    assert writer.open(1, 7)
    writer.process(Row(event_id="a", amount="1.00"))
    writer.process(Row(event_id="é", amount=None))
    writer.close(None)

    (file,) = (tmp_path / "out").iterdir()
    assert file.name == "epoch-7-partition-1.jsonl"
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"event_id": "a", "amount": "1.00"},
        {"event_id": "é", "amount": None},
    ]


def test_a_partition_that_is_there_is_written_again_in_place_of_the_one_before(job: ModuleType, tmp_path: Path) -> None:
    """The file may lack rows: when the driver dies, PySpark closes the writer as if all rows had come (4.2.0)."""
    early = job.FileOfLines(str(tmp_path))
    early.open(0, 3)
    early.close(None)
    assert [file.read_text() for file in tmp_path.iterdir()] == [""]

    written(job, tmp_path, partition=0, epoch=3)

    assert [json.loads(file.read_text()) for file in tmp_path.iterdir()] == [{"event_id": "a"}]
    written(job, tmp_path, partition=1, epoch=3)
    written(job, tmp_path, partition=0, epoch=4)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_partition_that_failed_leaves_nothing_and_is_written_again(job: ModuleType, tmp_path: Path) -> None:
    writer = job.FileOfLines(str(tmp_path))
    writer.open(0, 3)
    writer.process(Row(event_id="half"))

    writer.close(ValueError("the second row"))

    assert list(tmp_path.iterdir()) == []
    written(job, tmp_path, partition=0, epoch=3)
    assert [file.name for file in tmp_path.iterdir()] == ["epoch-3-partition-0.jsonl"]


def test_a_writer_that_was_killed_leaves_a_part_that_no_reader_takes_for_whole(job: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "epoch-3-partition-0.jsonl.5f.part").write_text('{"event_id": "ha')

    written(job, tmp_path, partition=0, epoch=3)

    assert [file.name for file in tmp_path.glob("*.jsonl")] == ["epoch-3-partition-0.jsonl"]


def written(job: ModuleType, folder: Path, *, partition: int, epoch: int) -> None:
    writer = job.FileOfLines(str(folder))
    assert writer.open(partition, epoch)
    writer.process(Row(event_id="a"))
    writer.close(None)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.catalogue
@pytest.mark.timeout(900)
class TestOnTrial:
    def test_each_record_is_in_one_line(self, trial: Callable[..., JobTrial]) -> None:
        run = trial("row_by_row_sink")

        account = run.prove(case_of("row_by_row_sink"), seed=19, count=2_000, kill_in=(1, 3))

        assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
        files = Path(local_path(run.spec.sink.files.path)).glob("*.jsonl")
        positions = [json.loads(line)["position"] for file in files for line in file.read_text().splitlines()]
        assert len(set(positions)) == len(positions)
