"""Settings files that are followed by whoever lives longer than a declaration."""

import os
import threading
from datetime import timedelta

import pytest

from streamops.errors import SettingsError
from streamops.settings import in_force, settings_in_force
from streamops.settings.in_force import FollowedFile, SharedSettings
from support.clock import FakeClock
from support.settings import a_declared_stream, a_project

SECOND = timedelta(seconds=1)


@pytest.fixture
def project(tmp_path):
    project = a_project(tmp_path)
    declare(project, "orders")
    return project


@pytest.fixture
def clock():
    return FakeClock()


def declare(project, *names):
    """The settings file declares these streams and no others."""
    project.load(streams={name: a_declared_stream(name) for name in names})


def names_in(settings):
    return [spec.name for spec in settings.streams]


class Reader:
    """Counts readings of settings files, and holds them up."""

    def __init__(self):
        self.readings = 0
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, path, *, keep):
        self.readings += 1
        self.go_on.wait(60)
        return settings_in_force(path, keep=keep)


@pytest.fixture
def reader(monkeypatch):
    reader = Reader()
    monkeypatch.setattr(in_force, "settings_in_force", reader)
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
    monkeypatch.setattr(in_force, "PATIENCE_SECONDS", 0.05)
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
    monkeypatch.setattr(in_force, "FIRST_PATIENCE_SECONDS", 0.05)
    reader.go_on.clear()

    with pytest.raises(SettingsError, match=r"streams\.yaml could not be read within"):
        SharedSettings(clock).of(project.file)


def test_what_was_in_force_stays_where_no_version_is_kept_anywhere(project, clock):
    followed = FollowedFile(project.file, clock)
    before = followed.settings()
    project.file.write_text("streams: [")
    clock.advance(SECOND)

    after = followed.settings()

    assert (after.streams, after.state_root) == (before.streams, before.state_root)
    assert [problem.stream for problem in after.errors] == [""]


def test_a_reading_that_finds_nothing_new_gives_the_same_settings(project, clock):
    followed = FollowedFile(project.file, clock)
    before = followed.settings()
    os.utime(project.file)
    clock.advance(SECOND)

    assert followed.settings() is before
