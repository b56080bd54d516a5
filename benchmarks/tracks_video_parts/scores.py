"""How well the tracks of a run were answered: flicker, looks, and truth. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.tracking_parts.recordings import BoxTuple
from benchmarks.tracking_parts.scores import overlap
from benchmarks.tracks_video_parts.cases import Truth
from operators.wire.result import UNKNOWN
from serving.catalogue.lookup import SHIPPED, Catalogue

LEAST_CONFIDENCE = Catalogue([SHIPPED]).find("vehicle-type").card.min_confidence
LEAST_OVERLAP = 0.4
"""Intersection over union from which a box is that of a true object; boxes of motion are loose."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a result says of one object."""

    seq: int
    number: int
    """The object's id in the frame."""
    track: int | None
    box: BoxTuple
    label: str
    confidence: float
    looked: bool
    """Whether anybody looked at it in this frame."""


def answers(lines: Iterable[Mapping[str, Any]]) -> list[Answer]:
    """All objects with an answer in the results of a run, in the order of the frames."""
    found = [
        _answer(int(line["seq"]), one, one["attributes"][0])
        for line in lines
        for one in line["objects"]
        if one["attributes"]
    ]
    return sorted(found, key=lambda each: (each.seq, each.number))


def accepted(given: Answer) -> Answer:
    """Return the answer, or ``unknown`` in its place where it is not sure enough."""
    return given if given.confidence >= LEAST_CONFIDENCE else replace(given, label=UNKNOWN)


def flicker(given: Iterable[Answer]) -> float:
    """Share of the consecutive answers of a track that differ."""
    last: dict[int, str] = {}
    pairs = differ = 0
    for each in given:
        if each.track is None:
            continue
        if each.track in last:
            pairs += 1
            differ += last[each.track] != each.label
        last[each.track] = each.label
    return differ / pairs if pairs else 0.0


def looks_per_track(given: Sequence[Answer]) -> float:
    """Mean number of looks at the objects that have a track."""
    tracks = {each.track for each in given if each.track is not None}
    looks = sum(each.looked for each in given if each.track is not None)
    return looks / len(tracks) if tracks else 0.0


def agreement(given: Iterable[Answer], reference: Iterable[Answer]) -> float:
    """Share of the objects that are called the same; raises ValueError where these are not the same objects."""
    said = {(each.seq, each.number): (each.box, each.label) for each in given}
    other = {(each.seq, each.number): (each.box, each.label) for each in reference}
    if {key: box for key, (box, _) in said.items()} != {key: box for key, (box, _) in other.items()}:
        raise ValueError("the runs found different objects: they cannot be compared")
    return sum(label == other[key][1] for key, (_, label) in said.items()) / len(said) if said else 1.0


def right(given: Iterable[Answer], truth: Truth) -> list[tuple[Answer, bool]]:
    """The answers for boxes of true objects, and whether they are right."""
    found = []
    for each in given:
        true = truth[each.seq]
        if not true:
            continue
        overlaps = overlap([box for _, box in true], [each.box])[:, 0]
        best = int(overlaps.argmax())
        if overlaps[best] >= LEAST_OVERLAP:
            found.append((each, each.label in true[best][0]))
    return found


def _answer(seq: int, one: Mapping[str, Any], said: Mapping[str, Any]) -> Answer:
    box = one["detection"]["bounding_box"]
    return Answer(
        seq,
        int(one["id"]),
        one["track_id"],
        (box["x_min"], box["y_min"], box["x_max"], box["y_max"]),
        said["label"],
        said["confidence"],
        said["provenance"] != "track" or "looked" in said,
    )
