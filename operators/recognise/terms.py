"""The contract of a shortcut, which may answer in the oracle's place, and the terms on which it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cache_adapt.audit.state import Rule
from learning.budget import Budget, unlimited
from operators.observer import UNOBSERVED, Observer
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


@dataclass(frozen=True, slots=True)
class ChainTerms:
    """The terms of a chain."""

    rule: Rule
    """The audits' demands."""
    budget: Budget = field(default_factory=unlimited)
    """The process's, for learning and audits."""
    changed: Callable[[str], None] = lambda stream: None
    """Called with a stream on which the phase of an audit has changed."""
    observer: Observer = UNOBSERVED
