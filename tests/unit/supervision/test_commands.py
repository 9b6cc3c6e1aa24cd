"""What a person types for a stream and for a backfill, and that decisions name nothing else."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from streamops.backfill.backfill_service import backfill_spec
from streamops.control.records import Adopted, ClaimMode, MaintenanceBegun, Position
from streamops.launch import DriverState
from streamops.spec import StreamSpec
from streamops.supervision.cli_hints import called, to_adopt, to_confirm_dead, to_release, to_start, to_stop
from streamops.supervision.decide import decide
from streamops.supervision.observation import Observation
from support.backfills import a_plan
from support.checkpoints import OTHER_QUERY_ID, QUERY_ID
from support.observations import NOW, a_checkpoint, observed, seen
from support.records import a_claim, a_state, a_submit
from support.specs import a_stream

STREAM = a_stream("orders__by_hour")
BACKFILL = backfill_spec(STREAM, a_plan(id="2026-march", stream="orders__by_hour"))
BEGUN = MaintenanceBegun(until=NOW + timedelta(days=7), run=ClaimMode.BACKFILL)
SUBMITTED = a_state(a_claim(1, stream=BACKFILL.name), a_submit(1))
OURS = a_state(Adopted(stream=BACKFILL.name, position=Position(query_id=QUERY_ID, offset=3, commit=3)), BEGUN)


@pytest.mark.parametrize(
    ("word", "stream", "backfill"),
    [
        pytest.param(called, "stream orders__by_hour", "backfill 2026-march of orders__by_hour", id="name"),
        pytest.param(
            to_release,
            "streamops release orders__by_hour",
            "streamops backfill orders__by_hour --resume 2026-march",
            id="release",
        ),
        pytest.param(
            lambda spec: to_release(spec, accepts_unsafe=True),
            "streamops release orders__by_hour --accept-unsafe",
            "streamops backfill orders__by_hour --resume 2026-march --accept-unsafe",
            id="accept an unsafe start",
        ),
        pytest.param(
            to_start,
            "streamops start orders__by_hour",
            "streamops backfill orders__by_hour --resume 2026-march",
            id="start",
        ),
        pytest.param(
            to_stop,
            "streamops stop orders__by_hour",
            "streamops backfill orders__by_hour --stop 2026-march",
            id="stop",
        ),
        pytest.param(
            lambda spec: to_confirm_dead(spec, 3),
            "streamops start orders__by_hour --confirm-dead 3",
            "streamops backfill orders__by_hour --resume 2026-march --confirm-dead 3",
            id="vouch",
        ),
        pytest.param(
            to_adopt,
            "streamops adopt orders__by_hour",
            "streamops backfill orders__by_hour --from … --to …",
            id="adopt",
        ),
    ],
)
def test_a_backfill_is_spoken_to_by_its_stream_and_its_id(
    word: Callable[[StreamSpec], str], stream: str, backfill: str
) -> None:
    assert (word(STREAM), word(BACKFILL)) == (stream, backfill)


@pytest.mark.parametrize(
    ("sees", "command"),
    [
        pytest.param(
            observed(SUBMITTED, epochs_ahead=3),
            "`streamops backfill orders__by_hour --from … --to … --reason …`",
            id="its log is behind its drivers",
        ),
        pytest.param(
            observed(a_state(BEGUN), checkpoint=a_checkpoint(3)),
            "`streamops backfill orders__by_hour --from … --to … --reason …`",
            id="its log is gone, and so are the traces of its drivers",
        ),
        pytest.param(
            observed(OURS, checkpoint=a_checkpoint(5, query_id=OTHER_QUERY_ID)),
            "`streamops backfill orders__by_hour --resume 2026-march --accept-unsafe --reason …`",
            id="a stranger wrote there",
        ),
        pytest.param(
            observed(SUBMITTED, seen(SUBMITTED, status=DriverState.UNKNOWN, still=80)),
            "`streamops backfill orders__by_hour --resume 2026-march --confirm-dead 1 --reason …`",
            id="its host is lost",
        ),
    ],
)
def test_the_standstill_of_a_backfill_names_a_command_that_there_is(sees: Observation, command: str) -> None:
    reason = decide(sees, BACKFILL, mine=frozenset()).reason

    assert reason.count("`streamops") == 1
    assert command in reason
