"""The use that a request makes of the wire: counted where bytes leave, read where the request is paid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class WireUse:
    """Calls to other machines, and bytes to and from them; those of attempts that failed count too."""

    calls: int = 0
    bytes: int = 0


_CURRENT: ContextVar[WireUse | None] = ContextVar("wire use", default=None)


@contextmanager
def counting() -> Iterator[WireUse]:
    """Count what the work inside the block uses, tasks that it starts included.

    >>> with counting() as use:
    ...     called(1000)
    >>> use
    WireUse(calls=1, bytes=1000)
    """
    use = WireUse()
    token = _CURRENT.set(use)
    try:
        yield use
    finally:
        _CURRENT.reset(token)


def counted() -> WireUse | None:
    """The use that is counted where this is asked; None: nobody counts."""
    return _CURRENT.get()


def called(sent: int, received: int = 0) -> None:
    """A call was made; bytes that stay on this machine do not count."""
    use = _CURRENT.get()
    if use is not None:
        use.calls += 1
        use.bytes += sent + received
