"""Helm for tests: the machine's, or one that Go builds once; ``python -m tests.real.helm`` does it beforehand."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.real.broker import CACHE, MissingError
from tests.real.require import unavailable

VERSION = "v3.18.4"
HOW = "install Helm 3, or apt-get install golang-go and let this machine reach a proxy of Go modules"


def helm() -> Path:
    """The command; skips where there is none and none can be built."""
    try:
        return _found() or _built()
    except MissingError as missing:
        unavailable("Helm", str(missing), HOW)


def _found() -> Path | None:
    found = shutil.which("helm")
    return Path(found) if found else None


def _built() -> Path:
    folder = CACHE / "helm" / VERSION
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "helm").exists():
            _install(folder)
    return folder / "helm"


def _install(folder: Path) -> None:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise MissingError("neither `helm` nor `go` is on the PATH")
    command = [go, "install", "-trimpath", "-ldflags=-s -w", f"helm.sh/helm/v3/cmd/helm@{VERSION}"]
    environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    said = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False, env=environment)
    if said.returncode:
        why = (said.stderr.strip().splitlines() or ["go failed"])[-1]
        raise MissingError(f"Go cannot build it ({why[:200]})")


if __name__ == "__main__":
    with suppress(MissingError):  # the tests skip, or fail, and say why
        _found() or _built()
