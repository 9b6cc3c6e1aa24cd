from support.settings import a_declared_stream
from support.terminal import Terminal


def test_a_sound_file_is_ok_stream_by_stream(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")

    answer = terminal.run("config", "check")

    assert (answer.code, answer.out) == (0, "orders: ok\nreturns: ok\n")


def test_what_is_wrong_is_named_and_the_others_are_ok(terminal: Terminal) -> None:
    terminal.project.load(
        streams={"orders": a_declared_stream(), "returns": a_declared_stream("returns", job="jobs/none.py")}
    )

    answer = terminal.run("config", "check")

    assert answer.code == 2
    assert answer.out.startswith("orders: ok\n")
    assert "streams.returns.job: found 'jobs/none.py'" in answer.out


def test_the_answer_in_json(terminal: Terminal) -> None:
    terminal.project.load(streams={"returns": a_declared_stream("returns", job="jobs/none.py")})

    document = terminal.run("config", "check", "--json").document

    assert document["streams"] == []
    assert [(problem["stream"], problem["place"]) for problem in document["problems"]] == [
        ("returns", "streams.returns.job")
    ]


def test_a_section_on_which_no_stream_depends_is_told_beside_them(terminal: Terminal) -> None:
    terminal.project.file.write_text(terminal.project.file.read_text() + "\ncheckpoint_health: {every: often}\n")

    answer = terminal.run("config", "check")

    assert answer.code == 2
    assert answer.out.startswith("orders: ok\n")
    assert "checkpoint_health.every: found 'often', expected a duration" in answer.out


def test_a_file_that_is_no_yaml_is_an_answer_too(terminal: Terminal) -> None:
    terminal.project.load_text("streams: [")

    answer = terminal.run("config", "check")

    assert answer.code == 2
    assert "streams.yaml" in answer.out


def test_the_trigger_once_is_taken_with_a_notice_of_what_it_does(terminal: Terminal) -> None:
    terminal.declare("orders", trigger={"once": True})

    answer = terminal.run("config", "check")

    assert answer.code == 0
    ok, notice = answer.out.splitlines()
    assert ok == "orders: ok"
    assert notice.endswith(
        "streams.orders.trigger: once is deprecated since Spark 3.4: it ignores rate limits, and where a batch is uncommitted"
        " it runs only that one and ends; what waits for a watermark comes out with the next data only, and a record counts"
        " as late one run later (tried on 4.2.0); available_now reads all that there is, in batches"
    )


def test_the_notice_in_json(terminal: Terminal) -> None:
    terminal.declare("orders", trigger={"once": True})

    document = terminal.run("config", "check", "--json").document

    (notice,) = document["notices"]
    assert "streams.orders.trigger: once is deprecated since Spark 3.4" in notice
    assert document["problems"] == []


def test_the_schema_needs_no_settings_file(terminal: Terminal) -> None:
    terminal.project.file.unlink(missing_ok=True)

    answer = terminal.run("config", "schema")

    assert answer.code == 0
    assert {"DeclaredFile", "DeclaredStream"} <= set(answer.document["$defs"])
