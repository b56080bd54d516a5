"""A look that a shortcut and the oracle both answer, and what it is an audit of."""

from __future__ import annotations

from dataclasses import dataclass

from cache_adapt.audit.audit import Ticket
from operators.frames.frame import Frame, Region
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.trial import Trial
from operators.recognise.audits.trials import OpenTrials
from operators.wire.schema import Attribute
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True)
class AuditedLook:
    """A look as a shortcut and the oracle have answered it."""

    frame: Frame
    region: Region
    said: Attribute | None
    """The shortcut's answer; None: it was silent, or has yet to look."""
    reference: Attribute | None
    """The oracle's; None: it was not asked, or has yet to look."""
    number: int = 0
    """The number of what the shortcut answers with."""
    crop: Image | None = None
    """The object's picture as the oracle is shown it, where the frame's is not kept."""


@dataclass(frozen=True, slots=True, eq=False)
class LookAudit:
    """The audit that a look is part of."""

    stream: NodeStream
    key: str
    """The shortcut's."""
    shadow: bool
    """Whether the oracle's answer is published."""
    trials: OpenTrials
    """Those of the run in which the look was made."""
    trial: Trial | None = None
    """None where the look is an object by itself."""
    ticket: Ticket | None = None
    """The draw of such a look; in the shadow it follows once both have answered."""
