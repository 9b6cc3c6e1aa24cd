"""An endpoint whose address is a secret: it is in a file, and in nothing that anybody reads."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from streamops.errors import SettingsError
from streamops.spark.sinks.rest import EndpointError, Patience, Poster, _secret_url

SECRET = "T00/B11/xoHush7Qz"
QUICK = Patience(attempts=1, timeout=5.0)


class _Echo(BaseHTTPRequestHandler):
    """Answers every POST with the status that the path ends with, and gives the path back."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path.rpartition("=")[2]))
        self.end_headers()
        self.wfile.write(f"no such hook: {self.path}, nor /{SECRET}, nor {SECRET.rpartition('/')[2]}".encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def a_file(folder: Path, content: str) -> str:
    file = folder / "url"
    file.write_text(content)
    file.chmod(0o600)
    return str(file)


def test_the_reason_of_a_row_does_not_hold_the_address(echo: str) -> None:
    post = Poster(f"{echo}/services/{SECRET}?status=422", "", QUICK, is_secret=True)

    reason = post("k-1", "{}")

    assert reason.startswith("422 ")
    assert "no such hook" in reason
    assert "/services/" not in reason
    assert "xoHush7Qz" not in reason


@pytest.mark.parametrize("status", [302, 404, 500], ids=["elsewhere", "every row", "the moment"])
def test_an_error_names_the_host_and_the_setting_alone(echo: str, status: int) -> None:
    post = Poster(f"{echo}/services/{SECRET}?status={status}", "", QUICK, is_secret=True)

    with pytest.raises(EndpointError, match=r"127\.0\.0\.1 \(sink\.rest\.url_file\)") as raised:
        post("k-1", "{}")
    assert "xoHush7Qz" not in str(raised.value)


def test_the_first_line_of_the_file_is_the_address(tmp_path: Path) -> None:
    assert _secret_url(a_file(tmp_path, f"https://hooks.example/{SECRET}\n")) == f"https://hooks.example/{SECRET}"


@pytest.mark.parametrize(
    "address",
    [
        f"hooks.example/{SECRET}",
        f"ftp://hooks.example/{SECRET}",
        f"https://me:{SECRET}@hooks.example/",
        f"https://hooks.example:{SECRET}",
        f"https://hooks.example/{SECRET} x",
        f"https://hooks.example/\x07{SECRET}",
        f"https://[hooks/{SECRET}",
        "https:///x",
    ],
)
def test_what_cannot_be_posted_to_is_refused_without_being_shown(tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingsError, match=r"sink\.rest\.url_file: .* holds no address") as raised:
        _secret_url(a_file(tmp_path, address))
    assert "xoHush7Qz" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = Path(a_file(tmp_path, f"https://hooks.example/{SECRET}"))
    path.chmod(0o644)

    with pytest.raises(SettingsError, match=r"sink\.rest\.url_file: .* has mode 0644"):
        _secret_url(str(path))
