"""What the shortcuts of a node are held to, and who hears of what becomes of them."""

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
    """What audits demand."""
    listeners: Listeners = field(default_factory=Listeners)
    books: Books | None = None
    """None: everything may be spent."""
