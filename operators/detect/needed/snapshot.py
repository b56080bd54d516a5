"""The pace of a stream as it was learnt and survives a restart or a move to another worker: JSON with a version."""

from __future__ import annotations

import logging

import msgspec

from operators.audits.snapshot import versioned
from operators.detect.needed.pace import Learnt
from operators.wire.bounds import Label, Share
from serving.common.untrusted import printable

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


def to_json(learnt: Learnt, model: str, accuracy: float) -> bytes:
    """Encode what was learnt; some hundred bytes."""
    return msgspec.json.encode(PaceSnapshot(model=model, accuracy=accuracy, learnt=learnt))


def from_json(data: bytes, model: str, accuracy: float, where: str) -> Learnt | None:
    """Decode what ``to_json`` wrote for this detector and accuracy; anything else is logged, and None is returned."""
    found = versioned(data, PaceSnapshot, VERSION, where, LARGEST_BYTES)
    if found is None:
        return None
    if (found.model, found.accuracy) != (model, accuracy):
        log.info("%s: the pace was learnt for %s at accuracy %g and begins anew", *_known(where, found))
        return None
    return found.learnt


def _known(where: str, found: PaceSnapshot) -> tuple[str, str, float]:
    return where, printable(found.model), found.accuracy
