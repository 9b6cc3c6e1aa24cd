"""Files with secrets of sinks: read where nobody else may."""

from pathlib import Path

import pytest

from streamops.errors import SettingsError
from streamops.spark.sinks.batch import read_secret


def a_file(folder: Path, content: str, *, mode: int = 0o600) -> str:
    file = folder / "secret"
    file.write_text(content)
    file.chmod(mode)
    return str(file)


def test_the_first_line_is_the_secret(tmp_path: Path) -> None:
    assert read_secret(a_file(tmp_path, "right horse\r\nnote\n"), "sink.rest.token_file") == "right horse"


@pytest.mark.parametrize(
    ("content", "mode", "found"),
    [
        pytest.param("x", 0o640, "has mode 0640, and others may read it: chmod 600", id="the group may read"),
        pytest.param("", 0o600, "holds nothing in its first line", id="empty"),
        pytest.param("\nx", 0o600, "holds nothing in its first line", id="an empty line"),
    ],
)
def test_what_is_no_secret_is_refused(tmp_path: Path, content: str, mode: int, found: str) -> None:
    with pytest.raises(SettingsError, match="token_file: ") as refused:
        read_secret(a_file(tmp_path, content, mode=mode), "sink.rest.token_file")

    assert found in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can't be read"):
        read_secret(str(tmp_path / "none"), "sink.jdbc.password_file")
