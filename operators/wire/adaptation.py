"""The messages between workers and the adaptation worker: samples, wishes, and artefacts that were trained."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Count, Id, Label, MediaTime, Moment, Seq, Share, Text
from operators.wire.result import AuditedKind, BoundingBox

SAMPLES_SCHEMA: Final = "sluice.samples/1"
WISH_SCHEMA: Final = "sluice.wish/1"
UPDATE_SCHEMA: Final = "sluice.update/1"
SAMPLES_HEADER_KEY: Final = "samples"
"""The name of the Kafka header that carries the JSON of a ``SamplesHeader`` beside the activations."""
UPDATE_HEADER_KEY: Final = "update"
"""The name of the Kafka header that carries the JSON of an ``UpdateHeader`` beside the artefact."""
MOST_SAMPLES: Final = 64
"""Samples of a message."""
MOST_DIMS: Final = 6144
"""Activations of a sample: three taps of the largest size."""
LARGEST_LABEL: Final = 99_999
LONGEST_AGE_S: Final = 86_400.0
MOST_CLASSES: Final = 64
"""Classes whose share a wish tells."""
SPEC_BYTES: Final = 64 << 10

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}(?![\\s\\S])")]
"""A SHA-256 in hexadecimal digits."""
LabelNumber = Annotated[int, Meta(ge=0, le=LARGEST_LABEL)]
"""A label's place among the words of an oracle."""
Kind = Annotated[str, Meta(min_length=1, max_length=50, pattern="^[a-z][a-z_]*(?![\\s\\S])")]
"""A kind of artefact, such as ``exits``."""


class SamplesHeader(msgspec.Struct, kw_only=True, frozen=True):
    """Describes activations of one network and what the oracle said. Topic ``samples.v1``, key = stream."""

    schema: Literal["sluice.samples/1"] = SAMPLES_SCHEMA
    query: Id
    stream: Id
    node: Label
    network: Label
    """The network whose activations they are."""
    network_sha256: Sha256
    """Digest of its weights and of what it is fed."""
    labels_sha256: Sha256
    """The digest of the words that the labels' numbers stand for."""
    at: Moment
    """When the message was written."""
    dims: Annotated[int, Meta(ge=1, le=MOST_DIMS)]
    """D."""
    encoding: Literal["float16", "float32"]
    """How the N × D activations are written in the message: row by row, least byte first."""
    labels: Annotated[list[LabelNumber], Meta(min_length=1, max_length=MOST_SAMPLES)]
    """The oracle's answers, N."""
    ages_s: Annotated[list[Annotated[float, Meta(ge=0, le=LONGEST_AGE_S)]], Meta(min_length=1, max_length=MOST_SAMPLES)]
    """How long before ``at`` each was seen, N."""
    one_stream: bool = False
    """Whether artefacts for this stream alone learn from them, and else those for all streams together."""

    def __post_init__(self) -> None:
        bounds.check(self.at)
        if len(self.ages_s) != len(self.labels):
            raise ValueError(f"{len(self.labels)} labels but {len(self.ages_s)} ages")


class ClassCount(msgspec.Struct, kw_only=True, frozen=True):
    """How often a class was seen lately."""

    label: LabelNumber
    count: Annotated[int, Meta(ge=1, le=1_000_000)]


class Wish(msgspec.Struct, kw_only=True, frozen=True):
    """A worker wants an artefact, or goes on wanting it. Topic ``samples.v1``, key = stream."""

    schema: Literal["sluice.wish/1"] = WISH_SCHEMA
    query: Id
    stream: Id
    node: Label
    network: Label
    network_sha256: Sha256
    """Digest of its weights and of what it is fed."""
    labels_sha256: Sha256
    at: Moment
    kind: Kind
    spec: msgspec.Raw
    """The exact target, in the words of the kind; at most 64 KiB."""
    one_stream: bool = False
    """Whether it is to be trained on samples of this stream alone, and else on those of all streams together."""
    version: Seq = 0
    """This and what follows was told by earlier workers; nobody reads it."""
    asked: Count = 0
    answered: Count = 0
    expected: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    audits: Count = 0
    agreed: Count = 0
    mix: Annotated[list[ClassCount], Meta(max_length=MOST_CLASSES)] = []

    def __post_init__(self) -> None:
        bounds.check(self.at)
        if len(bytes(self.spec)) > SPEC_BYTES:
            raise ValueError(f"the spec takes more than {SPEC_BYTES} bytes")


class UpdateHeader(msgspec.Struct, kw_only=True, frozen=True):
    """Describes an artefact, whose bytes are the message. Topic ``updates.v1`` (compacted), key = query/target."""

    schema: Literal["sluice.update/1"] = UPDATE_SCHEMA
    query: Id
    target: Label
    """Names the artefact within its query: ``node/kind/`` and a digest of all that it was asked for."""
    version: Seq
    """Ascends."""
    sha256: Sha256
    """The digest of the artefact."""
    at: Moment
    samples: Count
    """Recent samples that it was trained on."""
    detail: Text
    """A description for people."""

    def __post_init__(self) -> None:
        bounds.check(self.at)


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
