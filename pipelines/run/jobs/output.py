"""Where the results of a job lie, and the only memory of how far it has come."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from operators.wire.schema import Result
from pipelines.run.jobs.past import PastFrame, Position
from serving.errors import BadInput


class JobOutput(Protocol):
    """Durable results, those of each stream in order and each once."""

    @property
    def positions(self) -> Mapping[str, Position]:
        """The last durable result of each stream."""

    def tail(self, stream: str) -> list[PastFrame]:
        """The last durable frames of a stream, in order: the lead-in of those to come."""

    async def write(self, result: Result) -> None:
        """Take the next result of a stream; raises SluiceError where it cannot be written."""

    async def settle(self, stream: str) -> None:
        """Make all results of a stream durable: the recording has ended, or its analysis is broken off."""

    def close(self) -> None:
        """Let another process write there."""


class PlaceClosed(BadInput):
    """Nothing can be written there at present: another process writes, or the system refuses it."""


def make_folder(folder: Path, parents: bool = False) -> None:
    """A folder for results, if it is not there; PlaceClosed where there can be none."""
    try:
        folder.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise PlaceClosed(f"cannot write results to {folder}: {error.strerror}; choose another --out") from None


@contextmanager
def only_writer(file: Path, place: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made, while the block runs; the system lets go of it where the process dies.

    Raises PlaceClosed, which names ``place``.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise PlaceClosed(f"cannot write results to {place}: {error.strerror}; choose another --out") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise PlaceClosed(f"{place}: another process writes there: wait for it, or choose another --out") from None
    finally:
        os.close(descriptor)
