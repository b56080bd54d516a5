"""An answer that an audit found wrong: kept in recordings beside the picture, never on a topic."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Count, Id, Label, MediaTime, Share
from operators.wire.result import AuditedKind, BoundingBox

DISAGREEMENT_SCHEMA: Final = "sluice.disagreement/1"


class Finding(msgspec.Struct, kw_only=True, frozen=True):
    """One object, as one of the two named it."""

    label: Label
    confidence: Share
    bounding_box: BoundingBox | None = None
    """Where it is, relative to the frame; None where the picture shows the object alone."""


class Opinion(msgspec.Struct, kw_only=True, frozen=True):
    """The answer of one of the two."""

    models: Annotated[list[Label], Meta(max_length=bounds.MOST_LISTED)]
    """The networks that may have answered."""
    found: Annotated[list[Finding], Meta(max_length=bounds.MOST_OBJECTS)]


class Disagreement(msgspec.Struct, kw_only=True, frozen=True):
    """A shortcut and the oracle said different things of the same picture or object."""

    schema: Literal["sluice.disagreement/1"] = DISAGREEMENT_SCHEMA
    stream: Id
    node: Label
    kind: AuditedKind
    media_time_s: MediaTime
    """The stream's latest frame when it was found out; what is compared may be some seconds older."""
    in_shadow: bool
    """Whether the oracle's answer was published; else the shortcut's was."""
    track_id: Count | None = None
    """The object, where both have concluded from several looks at it."""
    shortcut: Opinion
    oracle: Opinion
