"""What a recogniser knows of a stream, as it survives a restart or a move to another worker: JSON."""

from __future__ import annotations

import logging

import msgspec

from cache_adapt.audit_state import AuditState
from operators.recognise.cascade import CascadeState
from operators.schema import ShortcutKind
from specialization.timeline_state import TimelineState

log = logging.getLogger(__name__)


class Remembered(msgspec.Struct):
    """Parts that a node does not have stay empty."""

    audits: dict[ShortcutKind, AuditState] = {}
    cascade: CascadeState | None = None
    timeline: TimelineState | None = None

    def to_json(self) -> bytes:
        """Some kilobytes, most of them heads."""
        return msgspec.json.encode(self)


def from_json(data: bytes, where: str) -> Remembered | None:
    """What ``to_json`` wrote; None for anything else, which is told of. ``where``: for the message."""
    try:
        return msgspec.json.decode(data, type=Remembered)
    except msgspec.MsgspecError as error:
        log.warning("%s: what was remembered is damaged: %s", where, error)
        return None
