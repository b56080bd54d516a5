"""How far the results of two runs over the same frames agree: objects, and what they are called. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.tracking_parts.recordings import BoxTuple
from benchmarks.tracking_parts.scores import overlap
from operators.detect.agreement import SAME_OBJECT
from operators.detect.needed.matching import agreement
from operators.frames.frame import Box, Region
from operators.wire.result import UNKNOWN

Lines = Sequence[Mapping[str, Any]]
"""The results of a run, in the order of the frames."""


def object_agreement(wanted: Lines, found: Lines, sure: float) -> float:
    """Mean over the frames of matched / (matched + unmatched objects of at least ``sure`` confidence)."""
    return fmean(agreement(_regions(one), _regions(other), sure) for one, other in zip(wanted, found, strict=True))


def attribute_agreement(wanted: Lines, found: Lines, sure: bool) -> float | None:
    """Share of the objects with an answer in both runs that are called the same; None without any.

    ``sure``: of those that the wanted answers name at all.
    """
    pairs = [pair for one, other in zip(wanted, found, strict=True) for pair in _named_pairs(one, other)]
    same = [first == second for first, second in pairs if not sure or first != UNKNOWN]
    return fmean(same) if same else None


def truth_f1(truth: Sequence[Sequence[BoxTuple]], found: Lines) -> float:
    """F1 of the boxes, whatever they are called, against the true boxes of the same frames."""
    matched = given = true = 0
    for boxes, line in zip(truth, found, strict=False):
        mine = [_corners(one) for one in line["objects"]]
        given, true = given + len(mine), true + len(boxes)
        matched += _matches(boxes, mine)
    return 2 * matched / (given + true) if given + true else 1.0


def _matches(one: Sequence[BoxTuple], other: Sequence[BoxTuple]) -> int:
    if not one or not other:
        return 0
    shares, matched = overlap(list(one), list(other)), 0
    while shares.max() >= SAME_OBJECT:
        row, column = divmod(int(shares.argmax()), shares.shape[1])
        shares[row, :] = shares[:, column] = 0
        matched += 1
    return matched


def _regions(line: Mapping[str, Any]) -> list[Region]:
    return [
        Region(0, "detect", Box(*_corners(one)), one["detection"]["label"], one["detection"]["confidence"])
        for one in line["objects"]
    ]


def _named_pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    first, second = _named(one), _named(other)
    if not first or not second:
        return
    shares = overlap([box for box, _ in first], [box for box, _ in second])
    for (_, label), row in zip(first, shares, strict=True):
        if row.max() >= SAME_OBJECT:
            yield label, second[int(row.argmax())][1]


def _named(line: Mapping[str, Any]) -> list[tuple[BoxTuple, str]]:
    return [(_corners(one), one["attributes"][0]["label"]) for one in line["objects"] if one["attributes"]]


def _corners(one: Mapping[str, Any]) -> BoxTuple:
    box = one["detection"]["bounding_box"]
    return box["x_min"], box["y_min"], box["x_max"], box["y_max"]
