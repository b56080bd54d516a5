"""The contract of a shortcut, which may answer in the oracle's place, and the outcomes of its audits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from operators.wire.adaptation import Finding
from operators.wire.schema import ShortcutKind
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Both answers, where they differ, and the object."""

    shortcut: Finding
    oracle: Finding
    picture: Image | None
    """The object where the looks first differed; None: nobody has it."""
    in_shadow: bool
    track_id: int | None = None
    """None: the answers are those of one look each."""


@dataclass(frozen=True, slots=True, eq=False)
class AuditOutcome:
    """The result of an audit: a shortcut's answer for an object against the oracle's, of the same looks."""

    stream: str
    key: str
    """The shortcut's."""
    agrees: bool
    lost: bool | None
    """Whether the oracle has named the object and the shortcut has not, or otherwise; None: the oracle gave no name."""
    number: int
    """The number of the exits that have answered."""
    evidence: Evidence | None = None
    """None where both agree."""


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
