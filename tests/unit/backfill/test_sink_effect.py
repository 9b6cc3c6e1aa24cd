"""Where a backfill may write, and what becomes of the rows there."""

import pytest

from streamops.backfill.effects import OwnSink, SinkChosen, SinkRefused, choose_sink
from streamops.spec.sinks import SinkGuarantee

TABLE, DEAD, OTHER = "file:///data/orders", "file:///data/orders_dead", "file:///data/again"
OTHERS = {
    TABLE: "the table of orders",
    DEAD: "the dead letters of orders",
    "file:///data/audit": "the table of audit",
    "file:///cp/audit": "the checkpoint of audit",
}


def own(guarantee: SinkGuarantee) -> OwnSink:
    return OwnSink(stream="orders", table=TABLE, dead_letters=DEAD, guarantee=guarantee)


def choose(*, guarantee: SinkGuarantee = SinkGuarantee.IDEMPOTENT, **asked: str) -> SinkChosen | SinkRefused:
    return choose_sink(own(guarantee), backfill="march", others=OTHERS, **asked)


@pytest.mark.parametrize("guarantee", [one for one in SinkGuarantee if one is not SinkGuarantee.IDEMPOTENT_BY_KEY])
@pytest.mark.parametrize("asked", [{}, {"table": TABLE}], ids=["nothing asked", "its own asked"])
def test_a_sink_that_knows_no_keys_gets_no_row_twice(guarantee, asked):
    refused = choose(guarantee=guarantee, **asked)

    assert isinstance(refused, SinkRefused)
    assert refused.reason == (
        f"the sink of orders is {guarantee}: what file:///data/orders has of the range would be there twice"
    )
    assert "--table OTHER" in refused.way_out


def test_a_sink_that_knows_keys_is_written_again_and_dead_letters_have_a_table_of_their_own():
    assert choose(guarantee=SinkGuarantee.IDEMPOTENT_BY_KEY) == SinkChosen(
        table=TABLE,
        dead_letters="file:///data/orders_dead_march",
        is_redirected=False,
        notes=(
            "Rows that file:///data/orders has are written over by their key; those that it lacks are added.",
            "Records that can't be parsed are added to file:///data/orders_dead_march.",
        ),
    )


@pytest.mark.parametrize("guarantee", SinkGuarantee)
def test_another_table_is_added_to_whatever_the_sink_knows(guarantee):
    chosen = choose(guarantee=guarantee, table=OTHER)

    assert (chosen.table, chosen.dead_letters, chosen.is_redirected) == (OTHER, "file:///data/again_dead_letters", True)
    assert chosen.notes[0] == (
        "Rows are added to file:///data/again; if it has some of the range already, they are there twice afterwards."
    )


REFUSED = {
    "another stream's table": ({"table": "file:///data/audit"}, "the table of audit"),
    "within another stream's table": ({"table": "file:///data/audit/x"}, "the table of audit"),
    "around another stream's table": ({"table": "file:///data"}, "get into each other's way"),
    "another stream's companion": ({"table": "file:///cp/audit.companion-0"}, "the checkpoint of audit"),
    "its own dead letters as table": ({"table": DEAD}, "the dead letters of orders"),
    "its own dead letters": ({"table": OTHER, "dead_letters": DEAD}, "the dead letters of orders"),
    "its own table for dead letters": ({"table": OTHER, "dead_letters": TABLE}, "the table of orders"),
    "dead letters in the table": ({"table": OTHER, "dead_letters": f"{OTHER}/x"}, "lie in each other"),
    "one folder for both": ({"table": OTHER, "dead_letters": OTHER}, "lie in each other"),
}


@pytest.mark.parametrize(("asked", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_place_that_is_somebody_elses_is_refused(asked, reason):
    refused = choose(**asked)

    assert isinstance(refused, SinkRefused)
    assert reason in refused.reason
    assert refused.way_out


def test_dead_letters_may_not_get_into_the_table_that_is_written_by_key():
    refused = choose(guarantee=SinkGuarantee.IDEMPOTENT_BY_KEY, dead_letters=f"{TABLE}/dead")

    assert isinstance(refused, SinkRefused)
    assert "lie in each other" in refused.reason
