"""The job catalogue's settings as a user finds them: right without any variable of the environment."""

from pathlib import Path

import pytest

from streamops.settings import load_settings

CATALOGUE = Path(__file__).parents[3] / "config" / "catalogue.yaml"
STREAMS = load_settings(CATALOGUE, {}).streams


def test_nothing_in_it_is_wrong() -> None:
    assert load_settings(CATALOGUE, {}).errors == ()


@pytest.mark.parametrize("spec", [pytest.param(spec, id=spec.name) for spec in STREAMS])
def test_a_stream_says_what_it_is_for_and_has_places_of_its_own_name(spec) -> None:
    assert spec.description
    assert spec.checkpoint.endswith(f"/checkpoints/{spec.name}")


@pytest.mark.parametrize("spec", [pytest.param(spec, id=spec.name) for spec in STREAMS])
def test_a_small_stream_has_few_partitions_of_state(spec) -> None:
    """Pinned by the first start: 200 of them, which Spark takes by itself, can't be taken back."""
    assert spec.state.shuffle_partitions in range(2, 9)
