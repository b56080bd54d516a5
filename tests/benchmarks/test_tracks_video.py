"""The account of answers per track: flicker, looks, truth, and what is compared with what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tracks_video import headline
from benchmarks.tracks_video_parts.cases import Case, street
from benchmarks.tracks_video_parts.scores import (
    Answer,
    accepted,
    agreement,
    answers,
    flicker,
    looks_per_track,
    right,
)

BOX = (0.1, 0.1, 0.3, 0.3)


def answer(seq: int, label: str = "car", track: int | None = 1, looked: bool = False, number: int = 0) -> Answer:
    return Answer(seq, number, track, BOX, label, 0.9, looked)


def line(seq: int, **said: Any) -> dict[str, Any]:
    corners = dict(zip(("x_min", "y_min", "x_max", "y_max"), BOX, strict=True))
    given = {"name": "type", "label": "car", "confidence": 0.9, "provenance": "track", **said}
    found = {"id": 0, "track_id": 1, "detection": {"bounding_box": corners}, "attributes": [given]}
    return {"seq": seq, "objects": [found, {**found, "attributes": []}]}


def test_flicker_is_counted_within_tracks() -> None:
    given = [answer(0), answer(0, "bus", 2), answer(1), answer(1, "bus", 2), answer(2, "bus"), answer(2, "x", None)]
    assert flicker(given) == pytest.approx(1 / 3)
    assert flicker([]) == 0.0


def test_looks_are_read_from_results() -> None:
    given = answers([line(1), line(0, looked="oracle"), line(2, provenance="oracle")])
    assert [(each.seq, each.looked) for each in given] == [(0, True), (1, False), (2, True)]
    assert looks_per_track(given) == 2.0
    assert looks_per_track([answer(0, track=None, looked=True)]) == 0.0


def test_only_boxes_of_true_objects_are_right_or_wrong() -> None:
    truth = [[("car", (0.1, 0.1, 0.3, 0.32)), ("bus", (0.6, 0.6, 0.9, 0.9))], [], [("bus", BOX)]]
    assert [is_right for _, is_right in right([answer(0), answer(1), answer(2)], truth)] == [True, False]


def test_an_unsure_answer_is_unknown() -> None:
    sure, unsure = answer(0), Answer(0, 0, 1, BOX, "car", 0.69, True)
    assert accepted(sure) is sure
    assert accepted(unsure).label == "unknown"


def test_agreement_is_of_the_same_objects() -> None:
    assert agreement([answer(0), answer(1, "bus")], [answer(0), answer(1)]) == 0.5
    with pytest.raises(ValueError, match="different objects"):
        agreement([answer(0)], [answer(1)])


def test_the_headline_takes_the_worst_clip_and_the_worst_ratio() -> None:
    rows = [
        {"mode": "per look", "looks": 100, "objects": 100, "cpu_ratio": 1.0, "flicker": 0.2},
        {"mode": "per track", "looks": 10, "objects": 100, "cpu_ratio": 0.5, "flicker": 0.01, "right": 0.8},
        {"mode": "per track", "looks": 30, "objects": 100, "cpu_ratio": 0.8, "flicker": 0.02, "right": ""},
        {"mode": "per track, specialised", "looks": 10, "objects": 100, "cpu_ratio": 1.0, "flicker": 0.5},
    ]
    assert headline([row | {"right_per_look": 0.75} for row in rows]) == {
        "flicker": 0.02,
        "oracle_runs_ratio": 0.2,
        "cpu_ratio_worst": 1.0,
        "cpu_ratio_geomean": 0.7368,
        "accuracy_gain": 0.05,
    }


def test_a_street_is_drawn_with_its_truth_in_the_words_of_the_recogniser(tmp_path: Path) -> None:
    video, truth = street(tmp_path, 3, "day", 0.5)
    assert video.stat().st_size > 1000
    known = Case("street", "motion", video, truth).read_truth()
    assert known is not None
    assert len(known) == len(truth.read_text().splitlines()) == 6
    drawn = {one["label"] for text in truth.read_text().splitlines() for one in json.loads(text)["objects"]}
    assert "person" in drawn
    assert "person" not in {label for frame in known for label, _ in frame}
    assert Case("clip", "motion", video).read_truth() is None
