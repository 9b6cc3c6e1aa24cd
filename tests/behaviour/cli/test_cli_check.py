"""`streamops check`: any folder, without settings, without Spark."""

import json
import os
import shutil

import pytest

from streamops.cli.main import main
from streamops.storage import join
from streamops.storage.kinds import storage_for
from support.base_checkpoint import BASE_ID, entry, files, without


@pytest.fixture
def checkpoint(tmp_path):
    """Writes files as a checkpoint and gives its folder."""

    def write(found):
        for name, content in found.items():
            path = tmp_path / "orders" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return str(tmp_path / "orders")

    return write


def report(capsys, *arguments):
    """Exit code and report as JSON."""
    code = main(["check", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_healthy_checkpoint_is_told_in_three_lines(checkpoint, capsys):
    code = main(["check", checkpoint(files())])

    first, plan, standing = capsys.readouterr().out.splitlines()
    assert code == 0
    assert first.startswith("ok  file:///")
    assert plan == "A start with Spark 4.2 is safe: batch 4 is committed: batch 5 is planned next."
    assert standing.startswith(
        f"query {BASE_ID}, offsets to batch 4 (planned 2026-03-01 12:00:04 UTC), commits to batch 4"
    )


def test_a_damaged_one_is_told_verdict_first_with_the_way_out(checkpoint, capsys):
    code = main(["check", checkpoint(files(commits_4=b""))])

    out = capsys.readouterr().out
    assert code == 4
    assert out.startswith("critical  file:///")
    assert "is futile" in out
    assert "Spark will say: Incomplete log file in the offset commit log" in out
    assert "critical  unreadable-last-commit  commits/4" in out
    assert "repair: delete commits/4 and `.4.crc` beside it" in out


def test_the_report_as_json(checkpoint, capsys):
    folder = checkpoint(files(commits_4=None))

    code, document = report(capsys, folder)

    assert code == 0
    assert document["checkpoint"] == f"file://{folder}"
    assert document["verdict"] == "ok"
    assert document["restart"]["safety"] == "safe-if-idempotent"
    assert document["restart"]["reruns"] == [4]
    assert document["restart"]["ranges"] == [{"start": '{"logOffset":3}', "end": '{"logOffset":4}'}]
    assert document["facts"]["last_offset"] == 4
    assert document["facts"]["last_commit"] == 3
    assert document["facts"]["query_id"] == BASE_ID
    assert [finding["rule"] for finding in document["findings"]] == ["pending-batch"]


@pytest.mark.parametrize(
    ("changes", "options", "verdict", "code"),
    [
        pytest.param(
            {"commits_4": None}, ["--sink-idempotent", "yes"], "ok", 0, id="in flight, and the sink recognises it"
        ),
        pytest.param({"commits_4": None}, ["--sink-idempotent", "no"], "warning", 3, id="in flight, and it does not"),
        pytest.param({"offsets_4": None}, [], "critical", 4, id="commits ahead"),
        pytest.param({"commits_4": b"v2\n{}"}, ["--spark-version", "3.5.6"], "critical", 4, id="too new for 3.5"),
        pytest.param({"commits_4": b"v2\n{}"}, ["--spark-version", "4.2.0"], "ok", 0, id="and not for 4.2"),
        pytest.param(
            without("offsets", "commits") | {"metadata": None}, [], "critical", 4, id="only its sources are left"
        ),
    ],
)
def test_the_exit_code_is_the_verdict(checkpoint, capsys, changes, options, verdict, code):
    found, document = report(capsys, checkpoint(files(**changes)), *options)

    assert (found, document["verdict"]) == (code, verdict)


def test_a_wrong_address_is_no_healthy_checkpoint(tmp_path, capsys):
    code, document = report(capsys, str(tmp_path / "nowhere"))

    assert (code, document["verdict"]) == (4, "unknown")
    assert [finding["rule"] for finding in document["findings"]] == ["no-checkpoint"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "which checkpoint", id="none named"),
        pytest.param(["x", "--spark-version", "2.4"], "known are 3.5", id="a Spark that nobody has measured"),
        pytest.param(["--explain", "nonsense"], "no rule 'nonsense'", id="no such rule"),
    ],
)
def test_wrong_use_is_told(arguments, words, capsys):
    assert main(["check", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_rule_explains_itself(capsys):
    assert main(["check", "--explain", "commits-ahead"]) == 0
    assert capsys.readouterr().out.startswith("commits-ahead: A commit without its offset entry.")


def test_hostile_names_and_contents_never_reach_the_terminal(checkpoint, capsys):
    escape = "\x1b]0;owned\x07"
    hostile = files(commits_4=b"v1\n" + escape.encode(), offsets_4=entry(4, source=f'{{"{escape}":1}}'))

    main(["check", checkpoint(hostile | {f"offsets/{escape}": b"x", "offsets/a\nok  fine": b"x"})])
    main(["check", checkpoint(hostile), "--json"])

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\nok  fine" not in out


ASYNC = files(**{f"{log}_{batch}": None for log in ("offsets", "commits") for batch in (1, 2, 3)})


@pytest.mark.parametrize(
    ("answer", "verdict", "code"),
    [
        pytest.param("yes", "ok", 0, id="its own doing"),
        pytest.param("no", "critical", 4, id="then the hole is damage"),
        pytest.param("auto", "unknown", 4, id="it looks like it, and a start without the option fails"),
    ],
)
def test_async_progress_decides_what_holes_in_both_logs_mean(checkpoint, capsys, answer, verdict, code):
    found, document = report(capsys, checkpoint(ASYNC), "--async-progress", answer)

    assert (found, document["verdict"]) == (code, verdict)


def test_a_setting_that_the_checkpoint_pins_otherwise_is_told(checkpoint, capsys):
    header = '{"batchWatermarkMs":0,"batchTimestampMs":1772366400000,"conf":{"spark.sql.shuffle.partitions":"200"}}'
    folder = checkpoint(files(offsets_4=entry(4, header=header)))

    code, document = report(
        capsys, folder, "--conf", "spark.sql.shuffle.partitions=400", "--conf", "spark.executor.memory=4g"
    )

    assert code == 0
    assert [finding["rule"] for finding in document["findings"]] == ["ignored-confs"]


@pytest.fixture
def reading(checkpoint, tmp_path):
    """A checkpoint that has read one file a batch, and the folder that it read."""
    folder = tmp_path / "in"
    folder.mkdir()
    found = files()
    for batch in range(5):
        path = folder / f"{batch}.json"
        path.write_bytes(b"{}")
        line = {"path": f"file://{path}", "timestamp": int(path.stat().st_mtime * 1000), "batchId": batch}
        found[f"sources/0/{batch}"] = f"v1\n{json.dumps(line)}".encode()
    return checkpoint(found), folder


def test_input_that_is_read_and_not_touched_is_well(reading, capsys):
    folder, inputs = reading

    code, document = report(capsys, folder, "--input", str(inputs))

    assert (code, document["findings"]) == (0, [])


def test_input_is_compared_with_what_was_read_of_it(reading, capsys):
    folder, inputs = reading
    os.utime(inputs / "2.json", (2_000_000_000, 2_000_000_000))
    for name, moment in (("old.json", 1_000_000_000), ("\x1b[2Jnew.json", 2_000_000_000)):
        (inputs / name).write_bytes(b"{}")
        os.utime(inputs / name, (moment, moment))

    code, document = report(capsys, folder, "--input", str(inputs))
    main(["check", folder, "--input", str(inputs), "--max-file-age", "20000d"])

    assert code == 3
    assert [finding["rule"] for finding in document["findings"]] == ["overwritten-input", "aged-input", "waiting-input"]
    out = capsys.readouterr().out
    assert "aged-input" not in out
    assert "\x1b" not in out


def test_input_in_another_place_is_critical(reading, tmp_path, capsys):
    folder, _ = reading
    (tmp_path / "other").mkdir()

    code, document = report(capsys, folder, "--input", str(tmp_path / "other"))

    assert (code, [finding["rule"] for finding in document["findings"]]) == (4, ["moved-input"])
    assert document["restart"]["safety"] == "unsafe"
    assert "a start fails, or reads all files there as new" in document["restart"]["summary"]


def test_input_that_cannot_be_listed_hides_no_verdict_on_the_checkpoint(reading, capsys):
    folder, inputs = reading

    shutil.rmtree(inputs)

    code, document = report(capsys, folder, "--input", str(inputs))

    assert (code, document["verdict"], document["restart"]["safety"]) == (4, "unknown", "safe")
    assert [finding["rule"] for finding in document["findings"]] == ["unseen-input"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ["x", "--conf", "shuffle"], "--conf 'shuffle': KEY=VALUE is expected", id="a setting without a value"
        ),
        pytest.param(["x", "--async-progress", "maybe"], "maybe", id="no answer"),
        pytest.param(["x", "--max-file-age", "soon"], "soon", id="no duration"),
        pytest.param(["x", "--input", "s3:"], "a bucket or host is expected", id="no address"),
    ],
)
def test_wrong_options_are_told(arguments, words, capsys):
    assert main(["check", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("rule", ["stuck-batch", "moved-input", "twin-address", "broken-state-file", "ignored-confs"])
def test_rules_of_every_kind_explain_themselves(rule, capsys):
    assert main(["check", "--explain", rule]) == 0
    assert capsys.readouterr().out.startswith(f"{rule}: ")


def test_a_stream_s_name_stands_for_its_checkpoint_and_for_what_its_settings_say(terminal):
    """Continuous entries are a warning where nobody says who wrote them, and nothing where it is declared."""
    kafka = {"bootstrap_servers": "a:9092", "topic": "t"}
    sink = {"delta": None, "kafka": kafka, "guarantee": "at-least-once"}
    terminal.declare("orders", trigger={"continuous": "1s"}, sink=sink)
    storage, address = storage_for(terminal.spec().checkpoint), terminal.spec().checkpoint
    for name, content in files(**{f"offsets_{epoch}": b'v1\n\n{"orders":{"0":5}}' for epoch in range(5)}).items():
        storage.write(join(address, name), content)

    by_name = terminal.run("check", "orders", "--json")
    by_place = terminal.run("check", address, "--json")

    assert by_name.document["checkpoint"] == by_place.document["checkpoint"] == address
    # The broker that it declares is asked as well, and is not there.
    assert [finding["rule"] for finding in by_name.document["findings"]] == ["unread-kafka"]
    assert by_name.document["restart"]["next_batch"] == 5
    assert "continuous-entries" in [finding["rule"] for finding in by_place.document["findings"]]
    assert by_place.document["restart"]["safety"] == "unknown"


def test_a_name_that_no_stream_bears_is_a_place(terminal):
    answer = terminal.run("check", "orders_of_nobody", "--json")

    assert answer.document["checkpoint"].endswith("/orders_of_nobody")
    assert answer.code == 4


def test_a_declared_stream_that_is_wrong_is_not_taken_for_a_folder(terminal):
    terminal.declare("orders", trigger={"continuous": True})

    answer = terminal.run("check", "orders")

    assert answer.code == 2
    assert "streams.orders.trigger.continuous: found true, expected a duration" in answer.err


@pytest.mark.parametrize(
    "option",
    [
        ("--sink", "somewhere"),
        ("--input", "somewhere"),
        ("--conf", "spark.sql.shuffle.partitions=3"),
        ("--spark-version", "4.0"),
        ("--available-now", "yes"),
    ],
    ids=lambda option: option[0],
)
def test_an_option_that_the_settings_answer_is_refused_beside_a_declared_stream(terminal, option):
    terminal.declare("orders")

    answer = terminal.run("check", "orders", *option)

    assert answer.code == 2
    assert f"{option[0]}: orders is a declared stream, and only its settings are asked" in answer.err
    assert f"streamops check {terminal.spec().checkpoint} {option[0]} …" in answer.err


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        pytest.param(
            lambda place: place.write_text("no folder"), "a file lies where a folder is expected", id="a file"
        ),
        pytest.param(lambda place: place.symlink_to(place), "leads round in a circle", id="a loop of links"),
    ],
)
def test_what_can_not_be_read_at_all_is_unknown_and_not_an_error_without_a_document(tmp_path, capsys, damage, told):
    place = tmp_path / "place"
    damage(place)

    code, document = report(capsys, f"file://{place}")

    assert (code, document["verdict"], document["restart"]["safety"]) == (4, "unknown", "unknown")
    assert told in document["error"]
    assert document["repair"]


@pytest.mark.parametrize("name", ["metadata", "offsets/4", "commits/4", "sources/0/4"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_where_one_belongs_is_damage_and_holds_nothing_up(checkpoint, capsys, name, make):
    folder = checkpoint(files())
    file = os.path.join(folder, name)
    os.unlink(file)
    make(file)

    code, document = report(capsys, folder)

    assert (code, document["verdict"], document["restart"]["safety"]) == (4, "critical", "futile")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/", "root of a file system"),
        ("hdfs:///checkpoints/orders", "hdfs is not supported so far"),
        ("dbfs:/mnt/orders", "dbfs is not supported so far"),
        ("C:\\checkpoints\\orders", "a path of Windows"),
    ],
)
def test_an_address_that_can_not_be_looked_at_is_told_as_what_it_is(address, told, capsys):
    code = main(["check", address])

    assert code == 2
    assert told in capsys.readouterr().err
