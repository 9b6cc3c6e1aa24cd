"""A broker for the recorder: started when first asked for, with the sandbox's settings and, if wanted, some more."""

import base64
import os
import socket
import subprocess
import time
from pathlib import Path

from streamops_sandbox.kafka import LOG4J_PROPERTIES, server_properties
from streamops_sandbox.ports import free_port
from support.provoke.sanitise import PROJECT

START_SECONDS = 60


class Broker:
    """One KRaft broker of `.jars/broker`; `settings` and `security` are added to those of the sandbox."""

    def __init__(self, folder: Path, *, settings: str = "", security: str = "", module: str = "") -> None:
        self._folder = folder
        self._port, self._controller, self._secured = _three_ports()
        self._process: subprocess.Popen[bytes] | None = None
        text = server_properties(port=self._port, controller_port=self._controller, data=folder / "data")
        text += settings
        if security:
            text = "".join(line + "\n" for line in text.splitlines() if not line.startswith(_REPLACED))
            text += security.format(plain=self._port, port=self._secured, controller=self._controller, module=module)
        self._is_secured = bool(security)
        self._text = text

    def bootstrap(self) -> str:
        """Its address, or both addresses of one with security, the open one first."""
        if self._process is None:
            self._start()
        open_one = f"127.0.0.1:{self._port}"
        return f"{open_one},127.0.0.1:{self._secured}" if self._is_secured else open_one

    @property
    def pid(self) -> int:
        """Of the process; an address must have been asked for before."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    def kill(self) -> None:
        """It is gone at once, as by a crash; its data stays."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)

    def start_again(self) -> None:
        """After a kill: the same broker with the same data at the same address."""
        self._launch()

    def _start(self) -> None:
        self._folder.mkdir(parents=True)
        self._properties.write_text(self._text)
        (self._folder / "log4j2.properties").write_text(LOG4J_PROPERTIES)
        cluster = base64.urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()
        tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "--config", str(self._properties)]
        subprocess.run([*self._java(), *tool], check=True, capture_output=True)
        self._launch()

    @property
    def _properties(self) -> Path:
        return self._folder / "server.properties"

    def _java(self) -> list[str]:
        log4j = self._folder / "log4j2.properties"
        return ["java", "-cp", f"{PROJECT}/.jars/broker/*", "-Xmx512m", f"-Dlog4j2.configurationFile={log4j}"]

    def _launch(self) -> None:
        command = [*self._java(), "kafka.Kafka", str(self._properties)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not _answers(self._port):
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError((self._folder / "log").read_text()[-3000:])
            time.sleep(0.2)


_REPLACED = ("listeners=", "advertised.listeners=", "listener.security.protocol.map=")


def _answers(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def _three_ports() -> tuple[int, int, int]:
    first = free_port()
    second = free_port(taken=frozenset({first}))
    return first, second, free_port(taken=frozenset({first, second}))
