"""Both answers for one object, a shortcut's and the oracle's, and the message where they differ. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from operators.audits.audit_report import Audited
from operators.wire.adaptation import Disagreement, Finding, Opinion
from operators.wire.bounds import LONGEST_MEDIA_S, limited, share
from operators.wire.schema import Attribute
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class AuditOutcome:
    """Both answers as they would be published, of the same looks, and the object."""

    key: str
    """The shortcut's."""
    number: int
    """The number of the exits that have answered."""
    said: Attribute
    """The shortcut's answer."""
    reference: Attribute
    """The oracle's."""
    shadow: bool
    """Whether the oracle's is published."""
    nameless: frozenset[str]
    """Words that name nothing."""
    track: int | None = None
    """None: the answers are those of one look each."""
    picture: Image | None = None
    """The object where the looks first differed; None: nobody has it."""

    @property
    def agrees(self) -> bool:
        """Whether both say the same word; those that name nothing are one."""
        both = {self.said.label, self.reference.label}
        return len(both) == 1 or both <= self.nameless

    @property
    def lost(self) -> bool | None:
        """Whether the oracle has named the object and the shortcut has not, or otherwise; None: it gave no name."""
        return None if self.reference.label in self.nameless else not self.agrees

    def disagreement(self, stream: str, of: Audited, at_s: float) -> Disagreement:
        """Describe the answers of both; ``at_s``: media time of the stream's newest frame."""
        return Disagreement(
            stream=stream,
            node=of.node,
            kind=of.kind,
            media_time_s=limited(at_s, -LONGEST_MEDIA_S, LONGEST_MEDIA_S),
            in_shadow=self.shadow,
            track_id=self.track,
            shortcut=Opinion(models=list(of.shortcuts), found=[_finding(self.said)]),
            oracle=Opinion(models=[of.oracle], found=[_finding(self.reference)]),
        )


def _finding(said: Attribute) -> Finding:
    return Finding(label=said.label, confidence=share(said.confidence))
