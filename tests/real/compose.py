"""Runs the services of a compose file as local processes: as much of Compose as our file uses, and no containers.

A service's command, environment, ``depends_on`` and healthcheck are taken as they stand. What a container would give it
is imitated: the image's entry point, a ``/tmp`` of its own, mounted files, volumes, and other services' names, which
become addresses on loopback. Services of other people's images are replaced by stand-ins that run already.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import yaml

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 45.0


@dataclass(frozen=True)
class Service:
    """One service as the file describes it."""

    name: str
    spec: Mapping[str, Any]

    @property
    def command(self) -> list[str]:
        """What is given to the image's entry point."""
        return [str(word) for word in self.spec.get("command", [])]

    @property
    def environment(self) -> dict[str, str]:
        """Its variables; ``$$`` is Compose's way to write a dollar sign."""
        return {key: str(value).replace("$$", "$") for key, value in self.spec.get("environment", {}).items()}

    @property
    def depends_on(self) -> dict[str, str]:
        """Condition by name of another service."""
        return {name: how["condition"] for name, how in self.spec.get("depends_on", {}).items()}

    @property
    def healthcheck(self) -> list[str] | None:
        """A command line, or None where there is none."""
        match self.spec.get("healthcheck", {}).get("test"):
            case ["CMD", *words]:
                return [str(word) for word in words]
            case ["CMD-SHELL", script] | str(script):
                return ["sh", "-c", script]
            case _:
                return None

    @cached_property
    def mounts(self) -> dict[str, str]:
        """Path beside the compose file, or a whole one, by path in the container; named volumes are not among them."""
        return {target: source for target, source in self._mounted() if source.startswith((".", "/"))}

    @cached_property
    def volumes(self) -> dict[str, str]:
        """Path in the container by name of a volume."""
        return {source: target for target, source in self._mounted() if not source.startswith((".", "/"))}

    def _mounted(self) -> Iterator[tuple[str, str]]:
        for volume in self.spec.get("volumes", []):
            source, target, *_ = str(volume).split(":")
            yield target, source


def services(
    file: Path, profiles: Collection[str] = (), variables: Mapping[str, str] | None = None
) -> dict[str, Service]:
    """The services of a compose file that run under these profiles, each after those it depends on.

    ``variables``: what ``${NAME:-…}`` stands for where something is mounted.
    """
    found = yaml.safe_load(file.read_text())["services"]
    active = {
        name: Service(
            name, {**spec, "volumes": [filled(str(each), variables or {}) for each in spec.get("volumes", [])]}
        )
        for name, spec in found.items()
        if not spec.get("profiles") or set(spec["profiles"]) & set(profiles)
    }
    return {service.name: service for name in active for service in _after_dependencies(active, name)}


def entry_point(dockerfile: Path) -> list[str]:
    """The image's ENTRYPOINT."""
    match = re.search(r"^ENTRYPOINT (\[.*\])$", dockerfile.read_text(), re.MULTILINE)
    assert match, f"{dockerfile} has no ENTRYPOINT in JSON"
    words: list[str] = json.loads(match[1])
    return words


class Composition:
    """The services of ``file`` as processes in ``directory``; a context manager that leaves none behind.

    ``addresses`` says what becomes of the names of services, such as ``{"broker:9092": "127.0.0.1:31415"}``;
    ``stand_ins`` names the services that run already.
    """

    def __init__(
        self,
        file: Path,
        directory: Path,
        addresses: Mapping[str, str],
        stand_ins: Collection[str],
        profiles: Collection[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """``variables``: what ``${NAME:-…}`` in the file stands for."""
        self.services = services(file, profiles, variables)
        self._variables = dict(variables or {})
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._beside = file.parent
        self._entry_point = entry_point(file.parent / "Dockerfile")
        self._directory = directory
        self._addresses = addresses
        self._stand_ins = stand_ins

    def up(self) -> None:
        """Start every service when what it depends on is as it asks."""
        for service in self.services.values():
            if service.name in self._stand_ins:
                continue
            for name, condition in service.depends_on.items():
                self._wait(name, condition)
            self._start(service)

    def down(self) -> dict[str, int]:
        """SIGTERM for each that runs, in the reverse order of starting; the exit statuses of all."""
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_TIMEOUT_S)
        return {name: process.returncode for name, process in self.processes.items()}

    def healthy(self, name: str) -> bool:
        """What the service's healthcheck says now; stand-ins are healthy."""
        if name in self._stand_ins:
            return True
        service = self.services[name]
        assert service.healthcheck, f"{name} has no healthcheck"
        check = self._localise(service, service.healthcheck)
        return subprocess.run(check, env=self._environment(service), capture_output=True).returncode == 0

    def output(self, name: str) -> str:
        """What the service wrote so far, to both of its outputs."""
        return (self._directory / name / "output").read_text(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _start(self, service: Service) -> None:
        home = self._directory / service.name
        (home / "tmp").mkdir(parents=True)
        for target, source in service.mounts.items():
            place, beside = home / Path(target).name, self._beside / source
            if beside.is_dir():
                place.symlink_to(beside)
            else:
                place.write_text(self._addressed(beside.read_text()))
        command = self._localise(service, [*self._entry_point, *service.command])
        with (home / "output").open("wb") as output:
            self.processes[service.name] = subprocess.Popen(
                command, env=self._environment(service), cwd=home, stdout=output, stderr=output
            )

    def _wait(self, name: str, condition: str) -> None:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not self._holds(name, condition):
            process = self.processes[name]
            gone = process.poll() is not None and condition != "service_completed_successfully"
            if gone or process.returncode or time.monotonic() > deadline_s:
                raise AssertionError(f"{name} is not {condition} (status {process.returncode}): {self.output(name)}")
            time.sleep(0.2)

    def _holds(self, name: str, condition: str) -> bool:
        match condition:
            case "service_started":
                return name in self._stand_ins or name in self.processes
            case "service_healthy":
                return self.healthy(name)
            case "service_completed_successfully":
                return self.processes[name].poll() == 0
        raise AssertionError(f"Compose knows no condition {condition!r}")

    def _environment(self, service: Service) -> dict[str, str]:
        """The service's own variables and what its image sets; nothing of the test's environment."""
        home = self._directory / service.name
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
        given = {name: filled(value, self._variables) for name, value in service.environment.items()}
        own = {name: self._stored(service, self._addressed(value)) for name, value in given.items()}
        return {"PATH": programs, "PYTHONUNBUFFERED": "1", "HOME": str(home), "TMPDIR": f"{home}/tmp", **own}

    def _localise(self, service: Service, words: list[str]) -> list[str]:
        home = self._directory / service.name
        paths = {target: str(home / Path(target).name) for target in service.mounts}
        found = [paths.get(word, re.sub(r"^/tmp/", f"{home}/tmp/", self._addressed(word))) for word in words]
        return [self._stored(service, word) for word in found]

    def _stored(self, service: Service, text: str) -> str:
        """Put a path into a volume's directory, which is one for all services."""
        for name, target in service.volumes.items():
            text = re.sub(rf"^{re.escape(target)}(?=/|$)", str(self._directory / "volumes" / name), text)
        return text

    def _addressed(self, text: str) -> str:
        for name, address in self._addresses.items():
            text = text.replace(name, address)
        return text


def filled(text: str, variables: Mapping[str, str]) -> str:
    """The text with what its variables stand for."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: variables.get(found[1], found[2]), text)


def _after_dependencies(found: Mapping[str, Service], name: str) -> Iterator[Service]:
    for dependency in found[name].depends_on:
        yield from _after_dependencies(found, dependency)
    yield found[name]
