"""Python environments of their own, for clients and servers of others whose dependencies are not ours."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.real.broker import CACHE
from tests.real.require import unavailable


def python_with(*packages: str) -> Path:
    """The interpreter of an environment with these packages, made once and kept; skips where no index is reached."""
    digest = hashlib.sha256(" ".join((sys.version, *packages)).encode()).hexdigest()[:12]
    folder = CACHE / "environments" / digest
    folder.mkdir(parents=True, exist_ok=True)
    python, done = folder / "venv" / "bin" / "python", folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            venv.create(folder / "venv", with_pip=True, clear=True)
            _install(python, packages)
            done.touch()
    return python


def _install(python: Path, packages: Sequence[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    said = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False, env=_environment())
    if said.returncode:
        why = (said.stderr.strip().splitlines() or ["pip failed"])[-1]
        unavailable(
            " ".join(packages), f"pip cannot install it ({why[:200]})", "let this machine reach a package index"
        )


def _environment() -> dict[str, str]:
    """Without what would lead pip, or Python, into our own environment."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
