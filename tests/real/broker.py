"""A real Apache Kafka broker (KRaft) on loopback, run from its published jars by Java; Maven fetches them once."""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.real.ports import free_port

VERSION = "4.1.0"
CACHE = Path(__file__).resolve().parents[2] / ".cache"
ARCHIVE = CACHE / "kafka" / f"{VERSION}.jsa"
"""The classes of the broker as Java has laid them out; one that does not fit this Java is passed over by it."""
FORMATTED = CACHE / "kafka" / f"{VERSION}-formatted"
"""The storage of a broker that has not begun: a copy of it spares each broker another start of Java."""

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>kafka-jars</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.24.3</version></dependency>
  </dependencies>
</project>
"""


class MissingError(Exception):
    """Java, Maven or the jars cannot be had here; the message says which and why."""


def jars(cache: Path = CACHE / "kafka") -> Path:
    """The directory of the broker's jars, fetched by Maven on first use; raises ``MissingError``."""
    java = shutil.which("java")
    if java is None:
        raise MissingError("no `java` on the PATH")
    spoken = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', spoken)
    if version is None or int(version.group(1)) < 17:
        raise MissingError(
            f"Kafka {VERSION} needs Java 17, here is {spoken.splitlines()[0] if spoken else 'an unknown one'}"
        )
    target = cache / VERSION
    if not target.is_dir():
        _fetch(target)
    return target


def _fetch(target: Path) -> None:
    """Copy the jars beside the target and rename, so that two test runs at once cannot see half a set."""
    if shutil.which("mvn") is None:
        raise MissingError("no `mvn` on the PATH to fetch the broker's jars with")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        pom = Path(scratch, "pom.xml")
        pom.write_text(POM)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={scratch}/jars"]
        run = subprocess.run(["mvn", "-B", "-q", "-f", str(pom), *goal], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise MissingError(f"Maven could not fetch Kafka's jars: {(run.stdout + run.stderr).strip()[:300]}")
        with suppress(OSError):  # another run was faster
            os.rename(f"{scratch}/jars", target)


class KafkaBroker:
    """One broker with its data in ``directory``; ``stop``/``kill`` and ``start`` again keep port and data.

    ``properties`` are added to the broker's configuration and win over the defaults. As a context manager it starts
    on entry, stops on exit, and removes a directory of its own making.
    """

    def __init__(
        self, directory: Path | None = None, port: int | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        self._temporary = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="sluice-kafka-"))
        self.port = port or free_port()
        self.properties = dict(properties or {})
        self.process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self.port}"

    def start(self, timeout_s: float = 120.0) -> None:
        """Start and wait until it listens; the first time on an empty directory it is formatted."""
        libraries = jars()
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in self._configuration().items()))
        data = self.directory / "data"
        if not (data / "meta.properties").exists():
            if FORMATTED.is_dir():
                shutil.copytree(FORMATTED, data)
            else:
                self._format(libraries, config, data)
        self.process = self._java(libraries, *self._classes(), "kafka.Kafka", str(config))
        if self._temporary:
            self._guard = self._watch_over(self.process.pid)
        self._wait(time.monotonic() + timeout_s)

    def stop(self, timeout_s: float = 30.0) -> None:
        """SIGTERM and wait for the clean end."""
        self._end(signal.SIGTERM, timeout_s)
        self._keep_classes()

    def kill(self) -> None:
        """SIGKILL: no goodbye to anyone."""
        self._end(signal.SIGKILL, 10.0)

    def log(self) -> str:
        """What the broker said so far."""
        path = self.directory / "broker.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def __enter__(self) -> KafkaBroker:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _configuration(self) -> dict[str, str]:
        controller = self._controller_port()
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
        } | {key: value.format(port=self.port, controller=controller) for key, value in self.properties.items()}

    def _controller_port(self) -> int:
        """Kept in a file: the quorum's voters must not change over a restart."""
        path = self.directory / "controller.port"
        if not path.exists():
            path.write_text(str(free_port()))
        return int(path.read_text())

    def _java(self, libraries: Path, *arguments: str) -> subprocess.Popen[bytes]:
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{libraries}/*", *arguments]
        with (self.directory / "broker.log").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, start_new_session=True
            )

    def _format(self, libraries: Path, config: Path, data: Path) -> None:
        """Make an empty storage, and keep a copy for the brokers that come."""
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # One word: as two, an id that begins with a hyphen, as one in 64 does, would be taken for an option.
        words = ("format", f"--cluster-id={cluster}", "-c", str(config))
        if self._java(libraries, "kafka.tools.StorageTool", *words).wait() != 0:
            raise RuntimeError(f"the broker's storage was not formatted: {self.log()[-2000:]}")
        beside = FORMATTED.with_name(f"{FORMATTED.name}.{os.getpid()}")
        shutil.copytree(data, beside)
        with suppress(OSError):  # another run was faster
            beside.rename(FORMATTED)
        shutil.rmtree(beside, ignore_errors=True)

    def _classes(self) -> list[str]:
        """Java's options to read the broker's classes from one file, which halves the time to start; the first broker
        that ends by itself leaves it (a dynamic archive of class data sharing)."""
        if ARCHIVE.exists():
            return [f"-XX:SharedArchiveFile={ARCHIVE}"]
        return [f"-XX:ArchiveClassesAtExit={self.directory / ARCHIVE.name}"]

    def _keep_classes(self) -> None:
        made = self.directory / ARCHIVE.name
        if made.exists() and not ARCHIVE.exists():
            beside = ARCHIVE.with_suffix(f".{os.getpid()}")
            shutil.copy(made, beside)
            beside.rename(ARCHIVE)

    def _watch_over(self, pid: int) -> subprocess.Popen[bytes]:
        """A shell that ends the broker and removes its directory once this process, killed perhaps, lets go of it."""
        script = 'read -r _; kill -9 "$0"; rm -rf "$1"'
        return subprocess.Popen(
            ["sh", "-c", script, str(pid), str(self.directory)], stdin=subprocess.PIPE, start_new_session=True
        )

    def _wait(self, deadline: float) -> None:
        assert self.process is not None
        while self.process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1.0):
                return
            time.sleep(0.1)
        self.kill()
        raise RuntimeError(f"the broker on {self.bootstrap} did not start; its log ends: {self.log()[-2000:]}")

    def _end(self, sign: signal.Signals, timeout_s: float) -> None:
        if self.process is None:
            return
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
        self.process.send_signal(sign)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10.0)
        self.process = None
