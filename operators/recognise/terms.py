"""The rules for the shortcuts of a node, what learning may cost, and who hears of outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cache_adapt.audit.state import Rule
from learning.budget import Budget, unlimited
from operators.observer import UNOBSERVED, Observer


def _ignored(stream: str) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of changes on a stream."""

    changed: Callable[[str], None] = _ignored
    """Called with a stream whose phase changed."""
    observer: Observer = UNOBSERVED


@dataclass(frozen=True, slots=True)
class ChainTerms:
    """The terms of a chain."""

    rule: Rule
    """The audits' demands."""
    budget: Budget = field(default_factory=unlimited)
    """The process's, for learning and audits."""
    listeners: Listeners = field(default_factory=Listeners)
