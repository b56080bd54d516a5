"""How far a consumer has come with a partition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FetchState:
    """Offsets are those of the next message; None where unknown."""

    topic: str
    partition: int
    end: int | None
    position: int | None
    begun: int | None
    """The first that the consumer has handed on since it was assigned; None where it has handed none on."""
    handed: int | None
    """Behind the last that it has handed on."""
    refusal: str | None
    """The broker's error, where it answers every fetch with one."""
