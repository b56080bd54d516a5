"""``sluice backend`` as a process of its own, on ports that it has found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.process import Sluice, until


@dataclass(frozen=True)
class BackendProcess:
    """The process, and where it listens."""

    command: Sluice
    grpc: str
    http: str


@contextmanager
def backend_process(
    folder: Path, *options: object, listen: str = "127.0.0.1:0", **variables: object
) -> Iterator[BackendProcess]:
    """The command while it runs, once it is ready; ``variables``: of its environment."""
    arguments = ("backend", "--listen", listen, "--http", "127.0.0.1:0", *options)
    with Sluice(folder, *arguments, broker=None, **variables) as command:
        until(lambda: "sluice: ready" in command.errors, "the backend", command)
        grpc = re.search(r"listening at grpc://(\S+)", command.errors)
        http = re.search(r"serving metrics and health at http://(\S+)/", command.errors)
        yield BackendProcess(command, grpc[1] if grpc else listen, http[1] if http else "")
