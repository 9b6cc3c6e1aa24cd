"""Tasks that version 60b607b deferred are woken by triggers of this one: their rows name a class and its arguments."""

from importlib import import_module

import pytest

from support.old_state import ROWS

DROPPED = {"wake_for"}
"""Of the task that waited for a release: no run begins before that any more."""


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_still_a_trigger_with_the_same_arguments(row):
    path, arguments = ROWS[row]
    module, _, name = path.rpartition(".")

    trigger = getattr(import_module(module), name)(**arguments)

    _, now = trigger.serialize()
    assert {name: now[name] for name in arguments if name not in DROPPED} == {
        name: value for name, value in arguments.items() if name not in DROPPED
    }
