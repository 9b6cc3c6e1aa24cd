"""A guarantee has held when nothing is lost, and nothing is there twice that must not be."""

import pytest

from streamops.spec import FilesSink, JdbcSink, KafkaSink, RestSink, SinkSpec
from streamops.spec.sinks import CustomSink, SinkGuarantee
from streamops.spec.sources import FileFormat
from streamops_sandbox.catalogue.case import Came
from streamops_sandbox.catalogue.outcome import Run, judge, sink_words

TOPIC = KafkaSink(bootstrap_servers="b:9092", topic="t")


def a_run(guarantee=SinkGuarantee.IDEMPOTENT, *, kills=1):
    sink = SinkSpec(table="file:///data/t", guarantee=guarantee)
    return Run(job="J7", stream="events_dedup", sink=sink, records=10, kills=kills, seconds=1.5)


def an_outcome(run, *, rows, letters=("x",), expected=("a", "b"), repeated=0):
    came = Came(rows=rows, repeated=repeated)
    return judge(run, came=came, expected=expected, dead_letters=letters, expected_dead_letters=("x",))


ALL = ("a", "b")
ONCE, AGAIN = SinkGuarantee.IDEMPOTENT, SinkGuarantee.AT_LEAST_ONCE


@pytest.mark.parametrize(
    ("run", "came", "lost", "duplicated", "is_good"),
    [
        pytest.param(a_run(), {"rows": ALL}, 0, 0, True, id="all is there once"),
        pytest.param(a_run(), {"rows": ("a",)}, 1, 0, False, id="a row is lost"),
        pytest.param(a_run(), {"rows": ALL, "letters": ()}, 1, 0, False, id="a dead letter is lost"),
        pytest.param(a_run(), {"rows": (*ALL, "b")}, 0, 1, False, id="a row is there twice"),
        pytest.param(a_run(), {"rows": ("a", "c")}, 1, 1, False, id="a row has another value"),
        pytest.param(a_run(), {"rows": ALL, "repeated": 1}, 0, 1, False, id="repeated, and the sink says never"),
        pytest.param(a_run(AGAIN), {"rows": ALL, "repeated": 3}, 0, 3, True, id="repeated, as at least once may be"),
        pytest.param(a_run(AGAIN), {"rows": (*ALL, "c")}, 0, 1, False, id="a row that is none, at least once"),
        pytest.param(a_run(AGAIN), {"rows": (*ALL, "b", "b")}, 0, 2, True, id="a row is there thrice, at least once"),
        pytest.param(
            a_run(AGAIN), {"rows": ALL, "letters": ("x", "x")}, 0, 1, False, id="a dead letter is there twice"
        ),
        pytest.param(a_run(AGAIN), {"rows": ("a",), "repeated": 1}, 1, 1, False, id="lost, at least once"),
        pytest.param(a_run(kills=0), {"rows": ALL}, 0, 0, False, id="never struck: nothing is proven"),
    ],
)
def test_what_came_is_judged_by_the_guarantee(run, came, lost, duplicated, is_good):
    found = an_outcome(run, **came)

    assert (found.lost, found.duplicated, found.is_good) == (lost, duplicated, is_good)


def test_the_account_holds_all_figures():
    content = an_outcome(a_run(AGAIN), rows=("a",), repeated=2).content

    assert content["guarantee"] == "at-least-once"
    figures = ("records", "rows", "kills", "lost", "wrong", "repeated", "duplicated", "dead_letters", "is_good")
    assert [content[name] for name in figures] == [10, 3, 1, 1, 0, 2, 2, 1, False]
    assert content["examples"] == ("rows lost: 1, for example ['b']",)


def test_a_trial_of_nothing_is_refused():
    with pytest.raises(ValueError, match="a trial of nothing proves nothing"):
        an_outcome(a_run(), rows=(), letters=(), expected=())


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        (SinkSpec(table="file:///t"), "Delta"),
        (
            SinkSpec(table="file:///t", kafka=TOPIC, files=FilesSink(path="file:///f", format=FileFormat.JSON)),
            "Delta + Kafka + files",
        ),
        (SinkSpec(jdbc=JdbcSink(url="jdbc:postgresql://h/d", table="t")), "PostgreSQL"),
        (SinkSpec(jdbc=JdbcSink(url="jdbc:h2:mem", table="t")), "JDBC"),
        (SinkSpec(kafka=TOPIC, rest=RestSink(url="http://h")), "Kafka + REST"),
        (SinkSpec(custom=CustomSink(format="noop")), "noop"),
    ],
)
def test_a_sink_is_called_by_its_places(sink, words):
    assert sink_words(sink) == words
