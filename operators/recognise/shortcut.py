"""The contract of a shortcut, which may answer in the oracle's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from operators.wire.schema import ShortcutKind


class Shortcut(Protocol):
    """May answer in the oracle's place, on all streams of a node."""

    @property
    def kind(self) -> ShortcutKind:
        """The provenance of its answers."""
        ...

    @property
    def key(self) -> str:
        """The name of its audit, unique within a node."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """The names of the models that may answer."""
        ...
