"""What a node knows of a stream, as it survives a restart or a move to another worker: JSON with a version."""

from __future__ import annotations

import logging

import msgspec

from cache_adapt.audit.state import AuditState
from serving.common.untrusted import decode
from serving.errors import Malformed
from specialization.timeline_state import TimelineState

log = logging.getLogger(__name__)

VERSION = 2


class Snapshot(msgspec.Struct, kw_only=True):
    """The snapshot of a node; parts that the node does not have stay empty."""

    version: int = 1
    """The version; snapshots of the first version do not have the field."""
    audits: dict[str, AuditState] = {}
    """The audits, by kind of shortcut."""
    shortcuts: dict[str, msgspec.Raw] = {}
    """The snapshots that the shortcuts made, by kind."""
    timeline: TimelineState | None = None
    cascade: msgspec.Raw = msgspec.Raw()
    """The first version's field for what is now ``shortcuts["specialised"]``."""

    def to_json(self) -> bytes:
        """Encode a snapshot: some kilobytes, most of them heads."""
        fields = {"version": VERSION, "audits": self.audits, "shortcuts": self.shortcuts, "timeline": self.timeline}
        return msgspec.json.encode(fields)


def from_json(data: bytes, where: str) -> Snapshot | None:
    """Decode what ``to_json`` wrote, in this version or the first; anything else is logged, and None is returned.

    ``where``: the place that the log line names.
    """
    try:
        found = decode(data, Snapshot)
    except Malformed as error:
        log.warning("%s: the snapshot is damaged, the stream begins anew: %s", where, error)
        return None
    if found.version > VERSION:
        log.warning(
            "%s: the snapshot has version %d, this worker reads up to %d; the stream begins anew",
            where,
            found.version,
            VERSION,
        )
        return None
    if bytes(found.cascade) not in (b"", b"null"):
        found.shortcuts.setdefault("specialised", found.cascade)
    return found
