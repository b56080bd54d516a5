"""The pace of a stream as it was learnt and survives a restart or a move to another worker: JSON with a version."""

from __future__ import annotations

import logging

import msgspec

from operators.detect.needed.pace import Learnt
from operators.wire.bounds import Label, Share
from serving.common.untrusted import decode, printable
from serving.errors import Malformed

log = logging.getLogger(__name__)

VERSION = 1
LARGEST_BYTES = 4096
"""Largest snapshot, with every field as long as it may be."""


class PaceSnapshot(msgspec.Struct, kw_only=True, frozen=True):
    """The pace that was learnt, and under which conditions it holds."""

    version: int = VERSION
    model: Label
    """The detector that audits asked."""
    accuracy: Share
    """The query's."""
    learnt: Learnt


class _PaceVersion(msgspec.Struct):
    version: int


def to_json(learnt: Learnt, model: str, accuracy: float) -> bytes:
    """Encode what was learnt; some hundred bytes."""
    return msgspec.json.encode(PaceSnapshot(model=model, accuracy=accuracy, learnt=learnt))


def from_json(data: bytes, model: str, accuracy: float, where: str) -> Learnt | None:
    """Decode what ``to_json`` wrote for this detector and accuracy; anything else is logged, and None is returned.

    ``where``: the place that the log line names.
    """
    try:
        version = decode(data, _PaceVersion, LARGEST_BYTES).version
        found = decode(data, PaceSnapshot, LARGEST_BYTES) if version == VERSION else None
    except Malformed as error:
        log.warning("%s: the snapshot is damaged, the stream begins anew: %s", where, error)
        return None
    if found is None:
        log.warning(
            "%s: the snapshot has version %d, this worker reads %d; the stream begins anew", where, version, VERSION
        )
        return None
    if (found.model, found.accuracy) != (model, accuracy):
        log.info("%s: the pace was learnt for %s at accuracy %g and begins anew", *_known(where, found))
        return None
    return found.learnt


def _known(where: str, found: PaceSnapshot) -> tuple[str, str, float]:
    return where, printable(found.model), found.accuracy
