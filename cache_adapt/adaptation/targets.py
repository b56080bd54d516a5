"""Targets of training: exits for one network of one node. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from cache_adapt.learned.specs import ExitsSpec

EXITS = "exits"
"""The kind of artefact, as messages and keys name it: there is no other."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A network whose activations are trained on. Samples of equal subjects belong together."""

    node: str
    network: str
    network_identity: str
    """Digest of its weights and of what it is fed: other activations are something else."""
    labels: str
    """The digest of the words that the labels' numbers stand for."""
    stream: str = ""
    """The only stream whose samples are trained on; empty: those of all streams together."""

    def check(self, stream: str) -> None:
        """Raise ValueError where a sample or a wish of this stream cannot be about it."""
        if self.stream not in ("", stream):
            raise ValueError(f"stream {stream!r} has nothing to say of what is of stream {self.stream!r} alone")


@dataclass(frozen=True)
class Target:
    """Exits that workers want: equal targets mean the same artefact."""

    subject: Subject
    spec: ExitsSpec

    @cached_property
    def key(self) -> str:
        """Names the artefact within its query; what differs in anything has another key."""
        parts = (*astuple(self.subject), EXITS)
        told = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        spec = msgspec.json.encode(self.spec)
        return f"{self.subject.node}/{EXITS}/{hashlib.sha256(told + spec).hexdigest()[:32]}"
