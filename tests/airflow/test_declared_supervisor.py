"""What a trigger knows of its declaration, which changes while it watches."""

import logging

import pytest

from streamops.airflow.triggers.declared_supervisor import DeclaredSupervisor
from streamops.errors import SettingsError
from streamops.settings import load_settings
from support.settings import a_declared_stream, a_project
from support.specs import seconds
from support.world import World


@pytest.fixture
def project(tmp_path):
    project = a_project(tmp_path)
    declare(project, "orders")
    return project


def declare(project, *names, **changes):
    """The settings file declares these streams and no others."""
    project.load(streams={name: a_declared_stream(name, **changes) for name in names})


# The supervisor of one stream


@pytest.fixture
def declared(project, tmp_path):
    world = World(tmp_path)
    return DeclaredSupervisor(
        "orders",
        settings=lambda: load_settings(project.file),
        build=lambda spec, state_root: world.supervisor(spec=spec, state_root=state_root),
    )


def test_an_unchanged_declaration_leaves_the_supervisor_alone(declared):
    """What it has read of the log would have to be read again."""
    before = declared.supervisor

    assert declared.renewed() is before


def test_the_supervisor_of_a_changed_declaration_knows_what_the_one_before_has_seen(project, declared):
    declared.supervisor.take_over('{"beat 1 submitted": ["a:7", 30.0]}')
    declare(project, "orders", trigger={"processing_time": "1m"})

    supervisor = declared.renewed()

    assert supervisor.spec.trigger.interval == seconds(60)
    assert '"beat 1 submitted": ["a:7", 30.0]' in supervisor.hand_over()


def test_what_was_seen_of_one_checkpoint_says_nothing_of_another(project, declared):
    """Drivers there have the same numbers."""
    declared.supervisor.take_over('{"beat 1 submitted": ["a:7", 30.0]}')
    declare(project, "orders", checkpoint="data/checkpoints/elsewhere")

    assert declared.renewed().hand_over() == "{}"


def test_a_declaration_that_is_wrong_or_gone_keeps_the_one_before_and_is_told_once(project, declared, caplog):
    before = declared.supervisor

    for broken in ("streams: [", "state_root: data/state\nstreams: {}", "", "state_root: data/state\nstreams: {}"):
        project.file.write_text(broken)
        assert all(declared.renewed() is before for _ in range(3))

    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 4
    assert "watched as it was declared before" in caplog.text


def test_a_declaration_that_was_mended_counts_again(project, declared):
    project.file.write_text("streams: [")
    declared.renewed()
    declare(project, "orders", trigger={"processing_time": "1m"})

    assert declared.renewed().spec.trigger.interval == seconds(60)


def test_there_is_no_supervisor_of_a_stream_that_was_never_declared(project):
    with pytest.raises(SettingsError, match="no stream is called 'returns'"):
        DeclaredSupervisor("returns", settings=lambda: load_settings(project.file), build=lambda spec, root: None)
