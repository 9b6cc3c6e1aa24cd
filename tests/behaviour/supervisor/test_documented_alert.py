"""The alert that the documentation shows, as a user would copy it."""

import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from streamops.fleet.verdict_change import load_on_change
from support.health_rounds import Fleet
from support.settings import a_project

PAGE = Path(__file__).parents[3] / "docs" / "checkpoints.md"


def blocks(language):
    """The code blocks of the section on checkpoint health."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Checkpoint health\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.fixture
def pager():
    """A server that takes alerts; what it was sent."""
    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/streams", sent
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_alert_of_the_readme_is_told_the_verdict_and_the_report(tmp_path, monkeypatch, pager):
    address, sent = pager
    (settings,) = blocks("yaml")
    (module,) = blocks("python")
    assert "https://alerts.example.com/streams" in module
    (tmp_path / "my_alerts.py").write_text(module.replace("https://alerts.example.com/streams", address))
    monkeypatch.syspath_prepend(str(tmp_path))
    project = a_project(tmp_path)
    declared = project.load_text(yaml.safe_dump({"state_root": "state", "streams": {}, **yaml.safe_load(settings)}))
    assert declared.errors == ()
    fleet = Fleet("orders")
    fleet.on_change = load_on_change(declared.checkpoint_health.on_change)
    fleet.damage("orders")

    report = fleet.round()

    assert report.troubles == ()
    (body,) = sent
    assert body.startswith("orders: no verdict -> critical (unreadable-last-commit)\n\ncritical  file:///")
    assert "repair: delete commits/4" in body
