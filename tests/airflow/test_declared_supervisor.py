"""What a trigger knows of its declaration, which changes while it watches."""

import logging
import os
import threading
from datetime import timedelta

import pytest

from streamops.airflow import declared_supervisor
from streamops.airflow.declared_supervisor import DeclaredSupervisor, SharedSettings
from streamops.errors import SettingsError
from streamops.settings import load_settings
from support.clock import FakeClock
from support.settings import a_declared_stream, a_project
from support.specs import seconds
from support.world import World

SECOND = timedelta(seconds=1)


@pytest.fixture
def project(tmp_path):
    project = a_project(tmp_path)
    declare(project, "orders")
    return project


@pytest.fixture
def clock():
    return FakeClock()


def declare(project, *names, **changes):
    """The settings file declares these streams and no others."""
    project.load(streams={name: a_declared_stream(name, **changes) for name in names})


def names_in(settings):
    return [spec.name for spec in settings.streams]


class Reader:
    """Counts readings of settings files, and holds them up."""

    def __init__(self):
        self.readings = 0
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, path):
        self.readings += 1
        self.go_on.wait(60)
        return load_settings(path)


@pytest.fixture
def reader(monkeypatch):
    reader = Reader()
    monkeypatch.setattr(declared_supervisor, "load_settings", reader)
    yield reader
    reader.go_on.set()


# Settings that many share


def test_a_file_that_changes_is_read_again(project, clock):
    shared = SharedSettings(clock)
    before = shared.of(project.file)
    declare(project, "orders", "returns")
    clock.advance(SECOND)

    after = shared.of(project.file)

    assert (names_in(before), names_in(after)) == (["orders"], ["orders", "returns"])


def test_a_file_that_stays_is_read_once_for_all_triggers(project, clock, reader):
    shared = SharedSettings(clock)

    for _ in range(50):
        shared.of(project.file)
        clock.advance(SECOND)

    assert reader.readings == 1


def test_a_change_that_does_not_show_is_seen_after_a_minute(project, clock):
    """Some places keep times to the second, and two names may be of one length."""
    shared = SharedSettings(clock)
    stat = os.stat(project.file)
    shared.of(project.file)
    project.file.write_text(project.file.read_text().replace("  orders:", "  ordres:"))
    os.utime(project.file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    clock.advance(SECOND)
    soon = shared.of(project.file)
    clock.advance(timedelta(minutes=1))

    later = shared.of(project.file)

    assert (names_in(soon), names_in(later)) == (["orders"], ["ordres"])


def test_a_place_that_hangs_leaves_what_was_read_before(project, clock, reader, monkeypatch):
    monkeypatch.setattr(declared_supervisor, "PATIENCE_SECONDS", 0.05)
    shared = SharedSettings(clock)
    before = shared.of(project.file)
    reader.go_on.clear()
    declare(project, "returns")
    clock.advance(SECOND)

    for _ in range(20):
        assert shared.of(project.file) is before
        clock.advance(SECOND)

    assert reader.readings == 2


def test_a_place_that_never_answered_is_told(project, clock, reader, monkeypatch):
    monkeypatch.setattr(declared_supervisor, "FIRST_PATIENCE_SECONDS", 0.05)
    reader.go_on.clear()

    with pytest.raises(SettingsError, match=r"streams\.yaml could not be read within"):
        SharedSettings(clock).of(project.file)


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
