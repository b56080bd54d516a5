"""A node's knowledge of a stream, as it survives a restart or a move to another worker: JSON with a version."""

from __future__ import annotations

import logging
from typing import TypeVar

import msgspec

from cache_adapt.audit.state import AuditState
from serving.common.untrusted import LARGEST_BYTES, decode
from serving.errors import Malformed
from specialization.tally import SpecializationTally

log = logging.getLogger(__name__)

S = TypeVar("S")

VERSION = 5
"""Audits of earlier versions do not say what they compared."""


class NodeSnapshot(msgspec.Struct, kw_only=True):
    """The snapshot of a node; parts that the node does not have stay empty."""

    version: int = VERSION
    oracle: str
    """The identity of the network that shortcuts were compared with."""
    audits: dict[str, AuditState] = {}
    """The audits, by shortcut."""
    exits: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The stream's own exits, as the node's operator keeps them."""
    tally: SpecializationTally | None = None

    def to_json(self) -> bytes:
        """Encode a snapshot: some kilobytes, most of them exits."""
        return msgspec.json.encode(self)


def from_json(data: bytes, where: str, oracle: str) -> NodeSnapshot | None:
    """Decode what ``to_json`` wrote beside this oracle; see ``versioned``."""
    found = versioned(data, NodeSnapshot, VERSION, where)
    if found is None or found.oracle == oracle:
        return found
    log.warning("%s: the snapshot is of another network; the stream begins anew", where)
    return None


class _Versioned(msgspec.Struct):
    version: int = 1
    """Snapshots of the first version do not have the field."""


def versioned(data: bytes, kind: type[S], version: int, where: str, largest_bytes: int = LARGEST_BYTES) -> S | None:
    """Decode a snapshot of this kind and version; anything else is logged, and None is returned.

    ``where``: the place that the log line names.
    """
    try:
        found = decode(data, _Versioned, largest_bytes).version
        if found == version:
            return decode(data, kind, largest_bytes)
    except Malformed as error:
        log.warning("%s: the snapshot is damaged, the stream begins anew: %s", where, error)
        return None
    log.warning("%s: the snapshot has version %d, this worker reads %d; the stream begins anew", where, found, version)
    return None
