"""What a shard hands on, and what is shown of all of them: bounded, the worst first, nothing lost in silence."""

import json
from typing import Any

import pytest

from streamops.catalogue.watch import HealthSample
from streamops.fleet.health_round import RoundReport, answer_of, shard_of, summary_of, tasks_of
from streamops.fleet.observe_health import HealthLook
from streamops.verdict import Verdict
from support.clock import START
from support.specs import a_stream

OK, WARNING, UNKNOWN, CRITICAL = Verdict.OK, Verdict.WARNING, Verdict.UNKNOWN, Verdict.CRITICAL


def a_look(name: str, verdict: Verdict, *, trouble: str = "") -> HealthLook:
    rules = () if verdict in (OK, UNKNOWN) else ("a-rule", "b-rule")
    sample = HealthSample(at=START, verdict=verdict, rules=rules, safety="safe")
    return HealthLook(spec=a_stream(name), sample=sample, report=(), trouble=trouble)


def looks(verdict: Verdict, count: int, prefix: str = "s") -> tuple[HealthLook, ...]:
    return tuple(a_look(f"{prefix}{number:04d}", verdict, trouble="x" * 1000) for number in range(count))


def an_answer(*found: HealthLook, shard: int = 0, troubles: tuple[str, ...] = ()) -> dict[str, Any]:
    """As it comes out of Airflow's database."""
    answer = answer_of(RoundReport(looks=found, troubles=troubles), shard=shard)
    return dict(json.loads(json.dumps(answer)))


def test_an_answer_counts_all_and_names_those_that_are_not_ok_worst_first() -> None:
    answer = an_answer(
        a_look("clicks", WARNING),
        a_look("fine", OK),
        a_look("orders", CRITICAL),
        a_look("away", UNKNOWN, trouble="no answer within 30 s"),
        shard=2,
    )

    assert answer == {
        "shard": 2,
        "counts": {"warning": 1, "ok": 1, "critical": 1, "unknown": 1},
        "rows": [
            ["orders", "critical", "a-rule, b-rule"],
            ["away", "unknown", "no answer within 30 s"],
            ["clicks", "warning", "a-rule, b-rule"],
        ],
        "troubles": [],
    }


def test_a_verdict_without_a_rule_is_told_by_what_a_start_is() -> None:
    sample = HealthSample(at=START, verdict=CRITICAL, safety="unsafe")
    look = HealthLook(spec=a_stream("orders"), sample=sample, report=())

    assert an_answer(look)["rows"] == [["orders", "critical", "a start is unsafe"]]


def test_a_fleet_in_trouble_has_answers_of_bounded_size() -> None:
    answer = an_answer(*looks(UNKNOWN, 5000), troubles=tuple("y" * 1000 for _ in range(5000)))

    assert len(answer["rows"]) == 500
    assert answer["counts"] == {"unknown": 5000}
    assert answer["troubles"][-1] == "… and 4800 more"
    assert len(json.dumps(answer)) < 300_000


def test_all_is_told_in_one_line() -> None:
    answers = [an_answer(*looks(OK, 3)), an_answer(*looks(CRITICAL, 2), *looks(WARNING, 1), shard=1)]

    assert summary_of(answers) == "6 streams: 3 ok, 1 warning, 2 critical"
    assert summary_of([an_answer()]) == "0 streams: nothing to look at"


def test_nothing_is_shown_where_all_is_well() -> None:
    assert tasks_of([an_answer(*looks(OK, 3))], shards=1) == []


def test_each_stream_that_is_not_ok_has_a_task_with_its_name_and_the_worst_come_first() -> None:
    answers = [
        an_answer(a_look("clicks", WARNING)),
        an_answer(a_look("orders", CRITICAL), a_look("fine", OK), shard=1),
    ]

    assert tasks_of(answers, shards=2) == [
        {"label": "orders", "stream": "orders", "verdict": "critical", "lines": ["a-rule, b-rule"]},
        {"label": "clicks", "stream": "clicks", "verdict": "warning", "lines": ["a-rule, b-rule"]},
    ]


@pytest.mark.parametrize(
    ("rest", "verdict"),
    [
        pytest.param(looks(WARNING, 10), "warning", id="warnings only: the task is no failure"),
        pytest.param(looks(CRITICAL, 60), "critical", id="criticals among them"),
    ],
)
def test_more_than_fifty_share_one_task_that_is_as_bad_as_the_worst_in_it(
    rest: tuple[HealthLook, ...], verdict: str
) -> None:
    tasks = tasks_of([an_answer(*looks(CRITICAL, 50, "a"), *rest)], shards=1)

    assert len(tasks) == 51
    last = tasks[-1]
    assert (last["label"], last["stream"], last["verdict"]) == (f"and {len(rest)} more", "", verdict)
    assert len(last["lines"]) == len(rest)


def test_those_that_no_shard_names_are_counted() -> None:
    answers = [an_answer(*looks(CRITICAL, 1250, f"f{shard}"), shard=shard) for shard in range(4)]

    tasks = tasks_of(answers, shards=4)

    assert len(tasks) == 51
    assert tasks[-1]["label"] == "and 4950 more"
    assert tasks[-1]["lines"][-1] == "… and 4750 more"
    assert len(tasks[-1]["lines"]) == 201
    assert len(json.dumps(tasks)) < 100_000


def test_what_goes_wrong_with_the_checks_is_a_failure_of_its_own() -> None:
    answers = [an_answer(*looks(OK, 3), shard=1, troubles=("the state root can't be asked",))]

    assert tasks_of(answers, shards=3) == [
        {
            "label": "the checks themselves",
            "stream": "",
            "verdict": "critical",
            "lines": [
                "shard 0 gave no answer: see its log",
                "shard 2 gave no answer: see its log",
                "shard 1: the state root can't be asked",
            ],
        }
    ]


def test_every_stream_has_one_shard_that_no_other_stream_moves() -> None:
    assert [shard_of(name, 4) for name in ("orders", "clicks", "returns", "stock")] == [2, 1, 1, 0]


def test_the_shards_of_a_fleet_are_about_equal() -> None:
    sizes = [0, 0, 0, 0]
    for number in range(5000):
        sizes[shard_of(f"stream_{number:04d}", 4)] += 1

    assert min(sizes) > 1100
