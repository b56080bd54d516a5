"""Compares the answers of a shortcut and of the oracle for one object. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from operators.recognise.shortcut import AuditOutcome, Evidence
from operators.wire.adaptation import Finding
from operators.wire.bounds import share
from operators.wire.schema import Attribute
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class ComparedAnswers:
    """Both answers as they would be published, and the object."""

    said: Attribute
    """The shortcut's."""
    reference: Attribute
    """The oracle's."""
    shadow: bool
    nameless: frozenset[str]
    """Words that name nothing."""
    track: int | None = None
    picture: Image | None = None

    @property
    def agrees(self) -> bool:
        """Whether both say the same word; those that name nothing are one."""
        both = {self.said.label, self.reference.label}
        return len(both) == 1 or both <= self.nameless

    def outcome(self, stream: str, key: str, number: int) -> AuditOutcome:
        """Describe the result for those who hear of it."""
        lost = None if self.reference.label in self.nameless else not self.agrees
        evidence = None
        if not self.agrees:
            both = _finding(self.said), _finding(self.reference)
            evidence = Evidence(*both, self.picture, self.shadow, self.track)
        return AuditOutcome(stream, key, self.agrees, lost, number, evidence)


def _finding(said: Attribute) -> Finding:
    return Finding(label=said.label, confidence=share(said.confidence))
