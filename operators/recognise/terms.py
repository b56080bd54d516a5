"""The rules for the shortcuts of a node, and who hears of their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cache_adapt.audit.state import Rule
from operators.observer import UNOBSERVED, Observer
from operators.recognise.account.books import Books


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
    listeners: Listeners = field(default_factory=Listeners)
    books: Books | None = None
    """None: everything may be spent."""
