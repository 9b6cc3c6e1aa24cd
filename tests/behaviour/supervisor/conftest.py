"""Worlds for one stream."""

import pytest

from support.world import World


@pytest.fixture
def world(tmp_path):
    """Each host sees its own drivers only."""
    return World(tmp_path)


@pytest.fixture
def managed(tmp_path):
    """Drivers run under a manager that every host can ask."""
    return World(tmp_path, is_managed=True)
