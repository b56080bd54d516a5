"""Targets of training: an artefact of some kind, for one network of one node. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Target:
    """One artefact that workers want."""

    subject: Subject
    kind: str
    """The kind of artefact, such as ``exits``."""
    spec: bytes
    """The exact target, in the words of the kind: equal bytes mean the same artefact."""

    @property
    def key(self) -> str:
        """Names the artefact within its query; what differs in anything has another key."""
        parts = (*vars_of(self.subject), self.kind)
        told = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        return f"{self.subject.node}/{self.kind}/{hashlib.sha256(told + self.spec).hexdigest()[:32]}"


def vars_of(subject: Subject) -> tuple[str, ...]:
    return subject.node, subject.network, subject.network_identity, subject.labels, subject.stream
