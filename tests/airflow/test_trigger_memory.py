"""A triggerer lives for months: what a wake leaves behind stays behind. Objects are counted, no time and no bytes."""

import asyncio
import gc
import threading

import pytest

from streamops.airflow.triggers import StreamTrigger

WARM = 50
"""Wakes until caches and the pool's threads are there."""
SPARE = 500
"""Objects that come and go with caches, whatever the number of wakes."""


async def wakes(config: str, times: int) -> None:
    """So many triggers, one after the other on one loop, as a triggerer runs them: made, watching, and at their end."""
    for _ in range(times):
        trigger = StreamTrigger(stream="orders", config=config, quiet_seconds=0, interval_seconds=0.001)
        (event,) = [event async for event in trigger.run()]
        assert event.payload["wake"] == "claim"
        await trigger.cleanup()


def living_objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("times", [300, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_wakes_leave_nothing_behind(place, times):
    """Of a stream that nobody has started yet: each wakes its task at once."""

    async def measured() -> tuple[int, int, int, int]:
        await wakes(place.config, WARM)
        before, threads = living_objects(), threading.active_count()
        await wakes(place.config, times)
        return before, living_objects(), threads, threading.active_count()

    before, after, threads_before, threads_after = asyncio.run(measured())

    assert after - before < SPARE, f"{(after - before) / times:.2f} objects a wake"
    assert threads_after <= max(threads_before, 40)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("looks", [300, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_looks_of_one_trigger_leave_nothing_behind(place, eyes, looks):
    """A trigger that watches a quiet stream for days."""
    place.start()
    trigger = StreamTrigger(stream="orders", config=place.config, quiet_seconds=0, interval_seconds=0.001)

    async def measured() -> tuple[int, int]:
        watching = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.to_thread(eyes.have_looked, WARM)
        before = living_objects()
        for _ in range(looks // 100):
            assert await asyncio.to_thread(eyes.have_looked, 100)
        after = living_objects()
        watching.cancel()
        await asyncio.wait({watching})
        return before, after

    before, after = asyncio.run(measured())

    assert after - before < SPARE, f"{(after - before) / looks:.2f} objects a look"
