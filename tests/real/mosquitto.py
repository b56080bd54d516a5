"""A real Mosquitto, the MQTT broker, with or without TLS and a password; and an independent client of it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from tests.real.ports import free_port
from tests.real.require import unavailable

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin") or shutil.which("mosquitto")
WAIT_S = 180.0


def require_mosquitto() -> None:
    """Skip, or fail where real parts are demanded, without it."""
    if MOSQUITTO is None:
        unavailable("Mosquitto", "there is no mosquitto", "apt-get install mosquitto")


class Mosquitto:
    """Runs while the block does; its folder holds configuration, log and certificates."""

    def __init__(self, folder: Path, password: str | None = None, *, tls: bool = False, more: str = "") -> None:
        """``more``: a line of its configuration."""
        require_mosquitto()
        self._folder, self.port, self.watch_port = folder, free_port(), free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self.cafile = folder / "ca.pem"
        lines = [f"listener {self.port} 127.0.0.1", f"allow_anonymous {str(password is None).lower()}"]
        if password is not None:
            (folder / "passwords").touch(0o600)
            subprocess.run(["mosquitto_passwd", "-b", folder / "passwords", "sluice", password], check=True)
            lines.append(f"password_file {folder / 'passwords'}")
        if tls:
            make_certificate(folder)
            lines += [f"certfile {folder / 'server.pem'}", f"keyfile {folder / 'server.key'}"]
        watched = [f"listener {self.watch_port} 127.0.0.1", "allow_anonymous true"]  # for the test's own eyes
        shared = ["per_listener_settings true", "user root", "log_type error"]
        (folder / "mosquitto.conf").write_text("\n".join([*shared, more, *lines, *watched, ""]))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, or start again with nothing retained."""
        assert MOSQUITTO is not None
        with (self._folder / "mosquitto.log").open("ab") as log:
            self._process = subprocess.Popen([MOSQUITTO, "-c", self._folder / "mosquitto.conf"], stdout=log, stderr=log)
        for port in (self.port, self.watch_port):
            _until_listening(port, self._process)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def make_certificate(folder: Path) -> None:
    """An authority, ``ca.pem``, and a certificate of 127.0.0.1 that it signed: ``server.pem`` and ``server.key``."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    new = ["openssl", "req", "-x509", "-days", "2", *key]
    signs = ["-addext", "keyUsage=critical,keyCertSign"]
    authority = ["-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", *signs]
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.pem", "-subj", "/CN=here"]
    extensions = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    for arguments in (authority, [*signed, *extensions]):
        subprocess.run([*new, *arguments], cwd=folder, check=True, capture_output=True)


class Heard:
    """What a subscriber of everything has been told."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, bytes]] = []
        self.retained: dict[str, bytes] = {}
        self.subscribed = threading.Event()

    def on(self, topic: str) -> list[bytes]:
        """The payloads of one topic, in order."""
        return [payload for each, payload in self.messages if each == topic]


@contextmanager
def subscriber(port: int) -> Iterator[Heard]:
    """Subscribed to all topics while the block runs."""
    heard = Heard()
    client = Client(CallbackAPIVersion.VERSION2)
    client.on_connect = lambda *_: client.subscribe("#", 1)
    client.on_subscribe = lambda *_: heard.subscribed.set()

    def take(_client: object, _data: object, message: object) -> None:
        topic, payload = str(message.topic), bytes(message.payload)  # type: ignore[attr-defined]
        heard.messages.append((topic, payload))
        if message.retain:  # type: ignore[attr-defined]
            heard.retained[topic] = payload

    client.on_message = take
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        assert heard.subscribed.wait(WAIT_S)
        yield heard
    finally:
        client.disconnect()
        client.loop_stop()


def _until_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while True:
        assert process.poll() is None, "mosquitto has ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
