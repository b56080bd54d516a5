"""The ``sluice`` command as users run it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SLUICE = str(Path(sys.executable).with_name("sluice"))


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without settings of Sluice, but for the tests' own cache, plus ``extra``."""
    clean = {key: value for key, value in os.environ.items() if key == "SLUICE_CACHE" or not key.startswith("SLUICE_")}
    return clean | dict(extra or {})


def sluice(
    *arguments: object, env: Mapping[str, str] | None = None, timeout_s: float = 180
) -> subprocess.CompletedProcess[str]:
    """Run to the end; raises ``TimeoutExpired`` where that takes too long."""
    return subprocess.run(
        [SLUICE, *map(str, arguments)],
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


@contextmanager
def running_sluice(*arguments: object, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs; killed at the end where it still does."""
    process = subprocess.Popen(
        [SLUICE, *map(str, arguments)],
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
