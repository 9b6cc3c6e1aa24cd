"""Every input: the same for the same seed, so many records, and of each kind as many as were asked for."""

from collections import Counter
from datetime import timedelta
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops_sandbox.inputs import (
    USUAL,
    InputRecord,
    Shares,
    ad_clicks,
    category_orders,
    clicks,
    customers,
    events,
    impressions,
    purchases,
    sensor_readings,
    transactions,
    waves,
    words,
)
from streamops_sandbox.inputs.shape import Row, good_rows
from streamops_sandbox.inputs.timetable import WATERMARK, Kind, arrange
from streamops_sandbox.inputs.watermarks import NEVER, on_time

TIMED = (ad_clicks, category_orders, clicks, events, impressions, purchases, sensor_readings, transactions)
INPUTS = (*TIMED, customers, words)

seeds = st.integers(0, 10**6)
counts = st.integers(60, 400)
shares = st.builds(
    Shares,
    late=st.floats(0, 0.2),
    duplicate=st.floats(0, 0.2),
    malformed=st.floats(0, 0.2),
    out_of_order=st.floats(0, 0.2),
)


def name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def each_input(modules: tuple[ModuleType, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", modules, ids=name)


def older_than_one_before(rows: list[Row]) -> int:
    """How many rows are older than the newest of their wave so far."""
    newest: dict[int, object] = {}
    found = 0
    for row in rows:
        found += row.wave in newest and row.at < newest[row.wave]
        newest[row.wave] = max(row.at, newest.get(row.wave, NEVER))
    return found


@each_input(INPUTS)
@settings(max_examples=10)
@given(seed=seeds, count=counts, shares=shares)
def test_the_same_arguments_give_the_same_records_as_many_as_asked_for(
    module: ModuleType, seed: int, count: int, shares: Shares
) -> None:
    records = module.records(seed=seed, count=count, shares=shares)

    assert records == module.records(seed=seed, count=count, shares=shares)
    assert len(records) == count
    assert {record.topic for record in records} == {name(module)}
    assert all(record.key for record in records)


@each_input(INPUTS)
def test_another_seed_gives_other_records(module: ModuleType) -> None:
    assert module.records(seed=1, count=100, shares=USUAL) != module.records(seed=2, count=100, shares=USUAL)


@each_input(INPUTS)
@settings(max_examples=10)
@given(seed=seeds, count=counts, shares=shares)
def test_as_many_are_malformed_as_were_asked_for(module: ModuleType, seed: int, count: int, shares: Shares) -> None:
    records = module.records(seed=seed, count=count, shares=shares)

    assert len(module.expected_dead_letters(records)) == round(count * shares.malformed)


@pytest.mark.parametrize(
    ("module", "id_field"),
    [
        (ad_clicks, "ad_click_id"),
        (category_orders, "order_id"),
        (clicks, "click_id"),
        (events, "event_id"),
        (impressions, "impression_id"),
        (purchases, "purchase_id"),
        (transactions, "transaction_id"),
    ],
    ids=lambda value: value if isinstance(value, str) else name(value),
)
@settings(max_examples=10)
@given(seed=seeds, count=counts, shares=shares)
def test_a_repeat_has_the_id_of_a_record_before_it_in_its_wave_and_no_other_id_comes_twice(
    module: ModuleType, id_field: str, seed: int, count: int, shares: Shares
) -> None:
    records = module.records(seed=seed, count=count, shares=shares)

    ids = Counter(row.fields[id_field] for row in good_rows(records, module.SHAPE))

    assert ids.total() - len(ids) == round(count * shares.duplicate)
    assert sum(len(wave) - len(set(wave)) for wave in waves(records)) >= round(count * shares.duplicate)


@each_input(TIMED)
@settings(max_examples=10)
@given(seed=seeds, count=counts, shares=shares)
def test_as_many_are_late_as_were_asked_for_and_by_more_than_an_hour_and_a_half(
    module: ModuleType, seed: int, count: int, shares: Shares
) -> None:
    records = module.records(seed=seed, count=count, shares=shares)
    rows = list(good_rows(records, module.SHAPE))

    kept = on_time(rows)

    late = [row for row in rows if row not in kept]
    assert len(late) == round(count * shares.late)
    for row in late:
        newest_before = max(other.at for other in rows if other.wave < row.wave)
        assert newest_before - WATERMARK - row.at > timedelta(minutes=90)


@each_input(TIMED)
@settings(max_examples=10)
@given(seed=seeds, count=counts, shares=shares)
def test_wherever_a_batch_ends_within_a_wave_nothing_else_is_behind_its_watermark(
    module: ModuleType, seed: int, count: int, shares: Shares
) -> None:
    rows = on_time(list(good_rows(module.records(seed=seed, count=count, shares=shares), module.SHAPE)))

    for row in rows:
        newest_of_wave = max(other.at for other in rows if other.wave == row.wave)
        assert row.at > newest_of_wave - WATERMARK


@settings(max_examples=50)
@given(seed=seeds, count=counts, shares=shares)
def test_out_of_order_records_are_older_than_one_before_them_and_nothing_else_is(
    seed: int, count: int, shares: Shares
) -> None:
    slots = arrange(seed=seed, count=count, shares=shares)
    rows = [
        Row(wave=slot.wave, key="", fields={"event_time": slot.at})
        for slot in slots
        if slot.kind in (Kind.PLAIN, Kind.OUT_OF_ORDER)
    ]

    assert older_than_one_before(rows) == round(count * shares.out_of_order)


def test_the_last_wave_is_the_last_record_three_hours_ahead() -> None:
    rows = list(good_rows(clicks.records(seed=3, count=100, shares=USUAL), clicks.SHAPE))

    *others, closing = rows

    assert [row.wave for row in rows if row.wave == 5] == [5]
    assert closing.at.isoformat() == "2026-01-01T12:15:00+00:00"
    assert max(row.at for row in others).isoformat() < "2026-01-01T09:06"


def test_the_first_wave_holds_nothing_late() -> None:
    slots = arrange(seed=5, count=1000, shares=Shares(late=0.3))

    assert {slot.wave for slot in slots if slot.kind is Kind.LATE} == {1, 2, 3, 4}


def test_too_few_records_for_their_shares_are_refused_with_what_is_left() -> None:
    with pytest.raises(ValueError, match="leave 2 plain ones, expected at least 5"):
        arrange(seed=1, count=10, shares=Shares(late=0.5, duplicate=0.2))


@pytest.mark.parametrize("fractions", [{"late": -0.1}, {"late": 0.6, "malformed": 0.6}])
def test_shares_are_fractions(fractions: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected fractions"):
        Shares(**fractions)


def test_waves_go_out_in_their_order_and_those_of_two_inputs_together() -> None:
    one, two, three = (InputRecord("a", b"1", b"", 0), InputRecord("a", b"2", b"", 1), InputRecord("b", b"3", b"", 0))

    assert waves([one, two, three]) == ((one, three), (two,))


def test_a_longer_watermark_of_thirty_minutes_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {module: module.records(seed=9, count=300, shares=USUAL) for module in TIMED}

    def expected() -> list[object]:
        return [
            clicks.expected_sessions(made[clicks]),
            events.expected_unique(made[events]),
            sensor_readings.expected_sliding(made[sensor_readings]),
            purchases.expected_joined(made[clicks], made[purchases]),
            ad_clicks.expected_joined(made[impressions], made[ad_clicks]),
        ]

    by_ten = expected()
    monkeypatch.setattr("streamops_sandbox.inputs.watermarks.WATERMARK", timedelta(minutes=30))

    assert expected() == by_ten
