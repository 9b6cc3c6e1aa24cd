"""The file system under a folder is tried by several processes."""

import os

import pytest

from streamops.errors import StorageError
from streamops.storage import self_test
from streamops.storage.local import LocalStorage


def test_a_sound_file_system_has_no_problems_and_nothing_is_left(tmp_path):
    assert self_test.folder_problems(f"file://{tmp_path}") == ()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_can_not_be_written_is_an_error_and_no_verdict(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StorageError):
        self_test.folder_problems(f"file://{tmp_path}/file")


OVERWRITES = """
from streamops.storage.local import LocalStorage
LocalStorage.create = LocalStorage.write
"""
BLIND = """
from streamops.storage.local import LocalStorage
LocalStorage.list = lambda self, directory, after="": ()
"""


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        pytest.param(OVERWRITES, "4 succeeded, not one", id="creates are not exclusive"),
        pytest.param(BLIND, "not seen by another process", id="names are shown late"),
    ],
)
def test_what_does_not_hold_is_named(tmp_path, monkeypatch, fault, problem):
    monkeypatch.setattr(
        self_test, "_CHILD", f"{{path!r}}\nimport sys; sys.path[:0] = {{path!r}}\n{fault}\n{self_test._CHILD}"
    )

    (found,) = self_test.folder_problems(f"file://{tmp_path}")

    assert problem in found
    assert LocalStorage().list(f"file://{tmp_path}") == ()
