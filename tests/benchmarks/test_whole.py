"""How runs are compared, and what the headline says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.tracks_video_parts.looped import looped
from benchmarks.whole import ALL, MODES, OFF, headline
from benchmarks.whole_parts.compared import attribute_agreement, object_agreement, truth_f1
from benchmarks.whole_parts.later import begun_later
from benchmarks.whole_parts.stabilised import stabilised
from operators.wire.result import UNKNOWN

LEFT, RIGHT = (0.1, 0.1, 0.3, 0.5), (0.6, 0.2, 0.9, 0.6)


def line(*objects: tuple[Sequence[float], str, float, str | None]) -> Mapping[str, Any]:
    return {
        "objects": [
            {
                "detection": {
                    "bounding_box": dict(zip(("x_min", "y_min", "x_max", "y_max"), box, strict=True)),
                    "label": label,
                    "confidence": confidence,
                },
                "attributes": [] if said is None else [{"label": said}],
            }
            for box, label, confidence, said in objects
        ]
    }


def test_a_run_agrees_with_itself() -> None:
    lines = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "person", 0.4, None)), line()]
    assert object_agreement(lines, lines, 0.5) == 1.0
    assert attribute_agreement(lines, lines, sure=True) == 1.0


def test_a_missing_object_counts_if_it_was_sure() -> None:
    both = [line((LEFT, "car", 0.9, None), (RIGHT, "person", 0.4, None))]
    without_person, without_car = [line(*[(LEFT, "car", 0.9, None)])], [line((RIGHT, "person", 0.4, None))]
    assert object_agreement(both, without_person, 0.5) == 1.0
    assert object_agreement(both, without_person, 0.0) == 0.5
    assert object_agreement(both, without_car, 0.5) == 0.5


def test_attributes_are_compared_where_both_runs_answer() -> None:
    one = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "car", 0.9, "van"))]
    other = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "car", 0.9, "bus"))]
    assert attribute_agreement(one, other, sure=True) == 0.5
    assert attribute_agreement(one, [line((LEFT, "car", 0.9, None))], sure=True) is None


def test_where_the_wanted_answer_was_not_sure_another_one_is_not_wrong() -> None:
    one = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "car", 0.9, UNKNOWN))]
    other = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "car", 0.9, "bus"))]
    assert attribute_agreement(one, other, sure=True) == 1.0
    assert attribute_agreement(one, other, sure=False) == 0.5
    assert attribute_agreement(other, one, sure=True) == 0.5, "silence where an answer was wanted"


def tracked(*objects: tuple[int | None, Sequence[float], str]) -> Mapping[str, Any]:
    made = line(*((box, label, 0.9, None) for _, box, label in objects))
    return {"objects": [one | {"track_id": track} for one, (track, _, _) in zip(made["objects"], objects, strict=True)]}


def test_what_flickers_is_not_in_the_stabilised_answers() -> None:
    steady, flash = (1, LEFT, "car"), (2, RIGHT, "person")
    lines = [tracked(steady), tracked(steady), tracked(steady, flash, (None, RIGHT, "dog")), tracked(steady)]
    assert [[one["detection"]["label"] for one in each["objects"]] for each in stabilised(lines)] == [["car"]] * 4
    assert object_agreement(stabilised(lines), lines, 0.0) == pytest.approx((1 + 1 + 1 / 3 + 1) / 4)


def test_a_gap_is_filled_on_the_way_between() -> None:
    lines = [tracked((7, (0.1 * at, 0.0, 0.1 * at + 0.2, 0.5), "car")) if at != 2 else tracked() for at in range(5)]
    (filled,) = stabilised(lines)[2]["objects"]
    assert list(filled["detection"]["bounding_box"].values()) == pytest.approx([0.2, 0.0, 0.4, 0.5])


def test_labels_follow_most_frames_and_ends_of_a_track_stay() -> None:
    labels = ("car", "car", "truck", "car", "car")
    lines = [tracked((7, LEFT, label)) for label in labels] + [tracked()] * 2
    firm = stabilised(lines)
    assert [one["detection"]["label"] for each in firm for one in each["objects"]] == ["car"] * 5
    assert [len(each["objects"]) for each in firm] == [1] * 5 + [0] * 2


def test_boxes_match_true_ones_once() -> None:
    found = [line((LEFT, "car", 0.9, None), (LEFT, "truck", 0.8, None))]
    assert truth_f1([[LEFT]], found) == pytest.approx(2 / 3)
    assert truth_f1([[LEFT, RIGHT]], found) == 0.5
    assert truth_f1([[]], [line()]) == 1.0


def test_the_headline_is_of_all_savings_together() -> None:
    rows = [
        {
            "video": "people",
            "fps": 5.0,
            "mode": mode,
            "ratio": ratio,
            "objects": 0.99,
            "objects_relative": 0.97,
            "attributes": 0.9,
            "ceiling": 0.91,
        }
        for mode, ratio in zip(MODES, (0.9, 2.0, 0.8, 1.2, 4.0), strict=True)
    ]
    said = headline(rows)
    agreements = {
        "object_agreement": 0.99,
        "object_relative": 0.97,
        "attribute_agreement": 0.9,
        "attribute_ceiling": 0.91,
    }
    assert said["clips"] == {"people, 5.0": {"cpu_ratio": 4.0, **agreements}}
    assert (said["geomean"], said["nothing_on"]) == (4.0, 0.9)
    assert {ALL, OFF} <= set(MODES)


def test_a_video_that_begins_later_has_the_same_pixels(tmp_path: Path) -> None:
    clip = VIDEOS / CLIPS["car park"]
    later = begun_later(tmp_path, clip, skipped=3, frames=5)
    with av.open(str(clip)) as one, av.open(str(later)) as other:
        wanted = [frame.to_ndarray() for frame in islice(one.decode(video=0), 3, 8)]
        found = list(other.decode(video=0))
    assert [frame.pts for frame in found][:1] == [0]
    assert len(found) == 5
    for expected, frame in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(frame.to_ndarray(), expected)


def test_a_clip_goes_on_without_a_gap(tmp_path: Path) -> None:
    clip = VIDEOS / CLIPS["persons, bicycles, cars"]  # with frames that are shown in another order than decoded
    with av.open(str(looped(tmp_path, clip, 80.0))) as video:
        times = [float(frame.time) for frame in video.decode(video=0)]
    assert times[-1] >= 79
    assert max(after - before for before, after in pairwise(times)) < 0.1
