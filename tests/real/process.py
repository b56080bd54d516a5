"""The ``sluice`` command as a process of its own, as users start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

WAIT_S = 180.0
"""Long enough for a machine that is shared with others and stands still now and then."""
SLUICE = Path(sys.executable).with_name("sluice")


class Sluice:
    """A running ``sluice …``; a context manager that leaves no process behind.

    Its outputs go to files in ``directory``, which is its home and working directory too.
    """

    def __init__(
        self,
        directory: Path,
        *arguments: object,
        broker: str | None = None,
        program: Path | str = SLUICE,
        **variables: object,
    ) -> None:
        """``program``: in place of the command; ``variables``: of its environment."""
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        number = len(list(directory.glob("*.err")))
        self._out, self._err = directory / f"{number}.out", directory / f"{number}.err"
        environment = {"PATH": os.defpath, "HOME": str(directory), "PYTHONUNBUFFERED": "1"}
        environment |= {name: str(value) for name, value in variables.items()}
        if broker:
            environment["SLUICE_BROKER"] = f"kafka://{broker}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [str(program), *map(str, arguments)], stdout=out, stderr=err, cwd=directory, env=environment
            )

    @property
    def output(self) -> str:
        """What it printed so far."""
        return self._out.read_text(errors="replace")

    @property
    def errors(self) -> str:
        """What it said on stderr so far."""
        return self._err.read_text(errors="replace")

    def wait(self, timeout_s: float = WAIT_S) -> int:
        """The exit status, when it ends by itself."""
        return self.process.wait(timeout_s)

    def terminate(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """SIGKILL: no goodbye to anyone."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()


def until(condition: Callable[[], object], what: str, *running: Sluice, timeout_s: float = WAIT_S) -> None:
    """Return once the condition holds; fails the test where it does not in time, or one of the processes ends."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        for process in running:
            assert process.process.poll() is None, f"ended while waiting for {what}: {process.errors}"
        assert time.monotonic() < deadline_s, f"waited {timeout_s:g} s in vain: {what}\n{_said(running)}"
        time.sleep(0.1)


def _said(running: tuple[Sluice, ...]) -> str:
    """The last that processes said."""
    return "\n".join(f"process {number} said last: {each.errors[-2000:]}" for number, each in enumerate(running))
