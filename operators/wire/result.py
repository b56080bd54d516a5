"""The message that says what was found in one sampled frame."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from operators.wire import bounds
from operators.wire.bounds import Corner, Count, Id, Label, Milliseconds, Seq, Share, Text
from operators.wire.corners import Corners
from operators.wire.frame_message import FrameId, FrameInfo

MOVING = "moving"
"""The label of what the motion detector finds: something that moves."""
UNKNOWN = "unknown"
"""The answer of a recogniser that is not sure enough."""
FRAME = "frame"
"""The detection's label of an object that is the whole frame."""
OTHER = "other"
"""The label of what none of a recogniser's names fits, and of what is counted together."""


RESULT_SCHEMA: Final = "sluice.result/1"
Outcome = Literal["analysed", "dropped", "failed"]
Provenance = Literal["oracle", "variant", "specialised", "cached", "track", "reused"]
"""``track``: the pooled looks at the object. ``reused`` is written no longer, but read in results that are older."""
Fallback = Literal["cheapest", "reuse", "drop"]
"""The remedy where no model of a node has the time. ``cheapest``: the fastest answers, late if need be. ``reuse``:
objects with a known answer keep it and are looked at later, the fastest looks at the others. ``drop``: the fastest
answers, and the frame is given up where that cannot be in time."""
ShortcutKind = Literal["variant", "specialised", "cached", "reused"]
"""The provenances of attributes that are audited, each by itself."""
AuditedKind = Literal["variant", "specialised", "cached", "reused", "propagated"]
"""The same, and frames that a detector skips."""


class BoundingBox(Corners, msgspec.Struct, kw_only=True, frozen=True):
    """Corners relative to the frame, 0…1, origin top left."""

    x_min: Corner
    y_min: Corner
    x_max: Corner
    y_max: Corner


class Detection(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An object's detection, and how old it is."""

    bounding_box: BoundingBox
    confidence: Share
    label: Label
    provenance: Literal["detector", "propagated"] = "detector"
    """``propagated``: the detector found the object on an earlier frame; its box was moved by what the pixels did."""
    age_ms: Milliseconds = 0.0
    """Media time since the detector found it."""


class Model(msgspec.Struct, kw_only=True, frozen=True):
    """Which network answered."""

    name: Label
    version: Label
    tier: Label
    variant: Label | None = None
    """Engine and precision, where the query named them: ``openvino-bf16``; and the place of an exit."""
    backend: Label | UnsetType = UNSET
    """The backend that has run it; left out where the process itself has."""


class Attribute(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A recogniser's answer for one object, and where it came from."""

    name: Label
    label: Label
    confidence: Share
    provenance: Provenance
    model: Model
    looks: Count | None = None
    """Number of looks that were pooled; given where the answer is the track's."""
    looked: Provenance | None = None
    """Who looked at the object in this frame; None where nobody did, or the answer is no track's."""


class Object(msgspec.Struct, kw_only=True, frozen=True):
    """One object in one frame. ``id`` is unique within the frame; ``parent_id`` names another object's ``id``."""

    id: Count
    label: Label
    confidence: Share
    track_id: Count | None = None
    parent_id: Count | None = None
    detection: Detection
    attributes: Annotated[list[Attribute], Meta(max_length=bounds.MOST_ATTRIBUTES)] = []
    zones: Annotated[list[Label], Meta(max_length=bounds.MOST_ZONES)] | UnsetType = UNSET
    """Names of the zones that hold its point in this frame; left out where the stream has no zones."""

    @property
    def box(self) -> BoundingBox:
        """Where it is: it knows its ``area``, ``pixels`` and ``crop`` as a ``Box`` does."""
        return self.detection.bounding_box

    def answer(self, name: str) -> str | None:
        """The word that a recogniser has given under this name; None where none has."""
        return next((said.label for said in self.attributes if said.name == name), None)


class NodeDecision(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The planner's decision for one node of one frame, and where the node could not obey."""

    variant: Label
    """The model to run where no other shortcut answers."""
    objects: Count | None = None
    """How many objects it was chosen for; None: there was no choice."""
    cause: Fallback | None = None
    """The policy that decided, where no model had the time."""
    expected_ms: Annotated[dict[Label, Milliseconds], Meta(max_length=bounds.MOST_LISTED)] = {}
    """The time that each model to choose from seldom exceeds for so many objects."""
    shortcuts: Annotated[list[AuditedKind], Meta(max_length=bounds.MOST_LISTED)] | None = None
    """Kinds of shortcuts that were allowed to answer; None: all that the node has."""
    budget_ms: Milliseconds | None = None
    """Time that the node was given, so that the nodes after it could still meet the deadline; None: not limited."""
    why: Text = ""
    """The reason in words."""
    declined: Annotated[dict[Label, Text], Meta(max_length=bounds.MOST_LISTED)] = {}
    """Parts of the plan that the node did not obey, and why: ``variant``, or a kind of shortcut."""
    skipped: bool | None = None
    """Whether the detector did not run on the frame, and its objects were moved; None: it runs on every frame."""
    window: Seq | None = None
    """The first frame, by ``seq``, of those that were planned together by looking ahead; None: decided as it came."""
    detail: Count | None = None
    """The longer side of what the detector's network is shown, in pixels, where ``detail: auto`` chose it."""
    reason: Text = ""
    """Why a detector that may skip frames ran on this one, or did not, in words."""


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """How the frame was run: its objective, and milliseconds per stage in the order they ran."""

    slo_ms: Milliseconds
    deadline_met: bool
    latency_ms: Milliseconds = 0.0
    """From ``captured_at`` until the result was ready."""
    latency_known: bool = True
    """False if the clocks of capture and worker disagree: then ``latency_ms`` counts from the frame's arrival, plus the
    time that it is known to have waited before, and ``deadline_met`` is false.
    """
    stages_ms: Annotated[dict[Label, Milliseconds], Meta(max_length=2 * bounds.MOST_NODES)] = {}
    waits: bool | UnsetType = UNSET
    """True where frames wait for their turn, as those of a recording do: their age says nothing then, and none is late.
    Else left out."""
    nodes: Annotated[dict[Label, NodeDecision], Meta(max_length=bounds.MOST_NODES)] = {}
    """The decision for each node with a model."""


class Result(msgspec.Struct, kw_only=True, frozen=True):
    """One message per sampled frame, empty and dropped frames included. Topic ``results.v1``, key = stream.

    Idempotent by (query, stream, run, seq): a repeated message has the same key and content.
    """

    schema: Literal["sluice.result/1"] = RESULT_SCHEMA
    stream: Id
    run: Id
    seq: Seq
    query: Id
    frame: FrameInfo
    outcome: Outcome
    cause: Text | None = None
    plan: Plan
    objects: Annotated[list[Object], Meta(max_length=bounds.MOST_OBJECTS)] = []

    @property
    def id(self) -> FrameId:
        return FrameId(self.stream, self.run, self.seq)
