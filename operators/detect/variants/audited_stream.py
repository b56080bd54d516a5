"""A stream of a detect node with several models."""

from __future__ import annotations

from dataclasses import dataclass

from operators.audits.stream_audits import StreamAudits


@dataclass(eq=False)
class AuditedStream:
    """One stream at one node, and the audits of the models on it."""

    name: str
    audits: StreamAudits
