"""What is seen of a job before it runs: scripts that start their own queries are refused, what only looks like one is not."""

import ast
import os
from pathlib import Path

import pytest

from streamops.settings.job_file import judge_job, look_at_job
from support.settings import a_declared_stream, a_project

JOBS = sorted((Path(__file__).parents[3] / "jobs").glob("*.py"))
PLAIN_SCRIPT = {"dstream_word_count.py"}
"""No job: J17 of the catalogue, which nobody declares."""

DEFINE = "def define(spark, stream):\n    return spark.readStream.format('rate').load().writeStream.format('noop')\n"

UNMODIFIED = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("rate").load()
query = (
    rows.writeStream.format("noop")
    .option("checkpointLocation", "/c")
    .start()
)
query.awaitTermination()
"""


def found(text: str) -> str:
    return judge_job(ast.parse(text)).found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            UNMODIFIED,
            "no function `define` at its top level, and `.start()` in line 8, which runs when the file is imported",
            id="a script as it was",
        ),
        pytest.param("RATE = 5\n", "no function `define` at its top level", id="no define"),
        pytest.param("", "no function `define` at its top level", id="an empty file"),
        pytest.param(
            "def main():\n    def define(spark, stream):\n        pass\n",
            "no function `define` at its top level",
            id="a define inside another function",
        ),
        pytest.param(
            f"if __name__ == '__main__':\n    {DEFINE.splitlines()[0]}\n        pass\n",
            "no function `define` at its top level",
            id="a define that only a main program has",
        ),
        pytest.param("define = 5\n", "a `define` in line 1 that is no function", id="a number"),
        pytest.param("class define:\n    pass\n", "a class `define` in line 1", id="a class"),
        pytest.param("async def define(spark, stream):\n    pass\n", "an async `define` in line 1", id="async"),
        pytest.param("def define(spark):\n    pass\n", "`define(spark)` in line 1", id="one parameter"),
        pytest.param("def define(a, b, c):\n    pass\n", "`define(a, b, c)` in line 1", id="three parameters"),
        pytest.param("def define(a, b, *, c):\n    pass\n", "`define(a, b, *, c)` in line 1", id="a keyword more"),
        pytest.param(
            DEFINE + "rows.writeStream.toTable('t')\n",
            "`.toTable()` in line 3, which runs when the file is imported",
            id="beside a define",
        ),
        pytest.param(
            DEFINE + "spark.streams.awaitAnyTermination()\n",
            "`.awaitAnyTermination()` in line 3, which runs when the file is imported",
            id="waits for what it has started by ways unseen",
        ),
        pytest.param(
            "def define(spark, stream):\n    return rows.writeStream.start()\n",
            "`.start()` in line 2, inside `define`",
            id="define starts what it should return",
        ),
        pytest.param(
            "def define(spark, stream):\n    other = stream.to_delta(rows)\n    other.start()\n    return other\n",
            "`.start()` in line 3, inside `define`",
            id="by a name",
        ),
        pytest.param(
            DEFINE + "def main():\n    rows.writeStream.start()\n\nmain()\n",
            "`.start()` in line 4, in `main`, called from line 6",
            id="by a function that the import calls",
        ),
        pytest.param(
            "def define(spark, stream):\n    _second(spark)\n    return w\n\n"
            "def _second(spark):\n    rows.writeStream.start()\n",
            "`.start()` in line 6, in `_second`, called from line 2",
            id="by a function that define calls",
        ),
        pytest.param(
            DEFINE + "if __name__ != '__main__':\n    rows.writeStream.start()\n",
            "`.start()` in line 4, which runs when the file is imported",
            id="only when it is imported",
        ),
        pytest.param(
            DEFINE + "try:\n    rows.writeStream.start()\nfinally:\n    pass\n",
            "`.start()` in line 4, which runs when the file is imported",
            id="inside a compound statement",
        ),
    ],
)
def test_a_job_that_the_runner_can_t_run_is_refused(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(DEFINE, id="the plain form"),
        pytest.param(
            DEFINE + "if __name__ == '__main__':\n    rows.writeStream.start().awaitTermination()\n",
            id="a main program beside it",
        ),
        pytest.param(
            DEFINE + "def main():\n    rows.writeStream.start()\n\nif '__main__' == __name__ and True:\n    main()\n",
            id="a main program in a function",
        ),
        pytest.param("from common import define\n", id="imported"),
        pytest.param("from common import make as define\n", id="imported under another name"),
        pytest.param("from common import *\n", id="perhaps imported"),
        pytest.param("define = functools.partial(make, 'orders')\n", id="made by a call"),
        pytest.param("@retried\ndef define(*, spark, stream):\n    pass\n", id="decorated: who knows how it is called"),
        pytest.param("def define(spark, stream, rate=5):\n    pass\n", id="a third with a default"),
        pytest.param("def define(*both):\n    pass\n", id="any number"),
        pytest.param("try:\n    import fast\nexcept ImportError:\n    fast = None\n" + DEFINE, id="below a try"),
        pytest.param(DEFINE + "threading.Thread(target=print).start()\n", id="a thread"),
        pytest.param(DEFINE + "timer = threading.Timer(1, print)\ntimer.start()\n", id="a thread by a name"),
        pytest.param(DEFINE + "at = re.search('a', 'b').start()\n", id="a match"),
        pytest.param(
            "def define(spark, stream):\n    def write(rows, batch):\n        rows.writeStream.start()\n"
            "    return rows.writeStream.foreachBatch(write)\n",
            id="a function that nothing here calls is left to the driver",
        ),
    ],
)
def test_a_job_that_may_be_fit_is_not_refused(text):
    assert found(text) == ""


@pytest.mark.parametrize("job", [pytest.param(job, id=job.name) for job in JOBS if job.name not in PLAIN_SCRIPT])
def test_each_job_of_the_catalogue_is_fit(job):
    look = look_at_job(str(job))

    assert (look.found, look.unparsed) == ("", "")


def test_a_plain_script_is_a_settings_error_that_shows_the_form_of_a_job(tmp_path):
    project = a_project(tmp_path)
    (project.root / "jobs/orders.py").write_text(UNMODIFIED)

    settings = project.load(streams={"orders": a_declared_stream()})

    (problem,) = settings.errors
    assert settings.streams == ()
    assert "streams.orders.job: found 'jobs/orders.py' with no function `define`" in str(problem)
    assert "`def define(spark, stream):` / `    rows = spark.readStream" in str(problem)


def test_other_streams_are_not_touched(tmp_path):
    project = a_project(tmp_path)
    (project.root / "jobs/script.py").write_text(UNMODIFIED)

    settings = project.load(
        streams={"script": a_declared_stream("script", job="jobs/script.py"), "orders": a_declared_stream()}
    )

    assert [spec.name for spec in settings.streams] == ["orders"]


def test_a_job_that_this_python_can_t_parse_is_told_and_not_refused(tmp_path):
    """The driver's Python may be newer than that of who reads the settings."""
    project = a_project(tmp_path)
    (project.root / "jobs/orders.py").write_text("def define(spark, stream)\n    pass\n")

    settings = project.load(streams={"orders": a_declared_stream()})

    assert settings.errors == ()
    assert any("orders.job: " in notice and "line 1: " in notice for notice in settings.notices)


def test_a_job_is_looked_into_again_when_it_changes(tmp_path):
    job = tmp_path / "job.py"
    job.write_text(DEFINE)
    before = look_at_job(str(job))

    job.write_text("RATE = 5\n")

    assert (before.found, look_at_job(str(job)).found) == ("", "no function `define` at its top level")


def test_a_job_that_stays_the_same_is_parsed_once(tmp_path, monkeypatch):
    job = tmp_path / "job.py"
    job.write_text(DEFINE)
    look_at_job(str(job))
    monkeypatch.setattr(ast, "parse", lambda *_: pytest.fail("it was parsed again"))

    assert look_at_job(str(job)).found == ""


def test_a_job_that_is_gone_or_too_large_is_not_judged(tmp_path):
    large = tmp_path / "large.py"
    large.touch()
    os.truncate(large, 3 * 1024 * 1024)

    assert look_at_job(str(tmp_path / "none.py")).unparsed == "no such file or directory"
    assert look_at_job(str(large)).unparsed == "it is larger than 2097152 bytes"
