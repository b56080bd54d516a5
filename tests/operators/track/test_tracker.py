"""The life of tracks, and that no input breaks the tracker or lets it grow."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.frames.frame import Box
from operators.testing import make_region
from operators.track import tracker as module
from operators.track.tracker import KalmanTracker, TrackSettings


def walk(tracker, positions, fps=10.0, **region):
    """One region that moves; its number in each frame."""
    return [tracker.update([make_region(x=x, **region)] if x is not None else [], 1 / fps) for x in positions]


def numbers_of(found):
    return {number for frame in found for number in frame if number is not None}


wild = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-0.5, 1.5) | st.sampled_from([0.0, 1.0, 0.5])
tame = st.floats(0, 1).map(lambda value: round(value, 2))
elapsed = (
    st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 1) | st.sampled_from([0.0, 0.04, 0.2, 1e308, -1.0])
)


def regions_of(corner):
    one = st.builds(
        lambda a, b, c, d, label, confidence: make_region(label=label, confidence=confidence, x=a, y=b, w=c, h=d),
        corner, corner, corner, corner, st.sampled_from(["car", "truck", "Ω\x00"]), wild,
    )  # fmt: skip
    return st.lists(one, max_size=6)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(regions_of(wild | tame), elapsed), max_size=12))
def test_any_boxes_at_any_time_are_survived_and_no_number_is_given_twice(frames):
    tracker, ended = KalmanTracker(TrackSettings(confirm_s=0.0)), set()
    for regions, elapsed_s in frames:
        before = tracker.alive()
        numbers = tracker.update(regions, elapsed_s)
        given_now = [number for number in numbers if number is not None]
        assert len(numbers) == len(regions)
        assert len(set(given_now)) == len(given_now)
        assert ended.isdisjoint(given_now)
        assert set(given_now) <= tracker.alive()
        ended |= before - tracker.alive()
        for region, number in zip(regions, numbers, strict=True):
            box = region.box
            followed = all(map(math.isfinite, (box.x_min, box.y_min, box.x_max, box.y_max)))
            assert (number is not None) == followed


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(regions_of(tame), st.sampled_from([0.04, 0.2])), max_size=8), st.randoms(use_true_random=False)
)
def test_the_order_of_regions_does_not_matter_and_the_same_again_gives_the_same(frames, rng):
    one, same, other = (KalmanTracker(TrackSettings(confirm_s=0.0)) for _ in range(3))
    for regions, elapsed_s in frames:
        places = rng.sample(range(len(regions)), len(regions))
        numbers = one.update(regions, elapsed_s)
        assert same.update(regions, elapsed_s) == numbers
        shuffled = other.update([regions[place] for place in places], elapsed_s)
        assert sorted((repr(regions[place]), number) for place, number in zip(places, shuffled, strict=True)) == sorted(
            (repr(region), number) for region, number in zip(regions, numbers, strict=True)
        )


def test_a_detector_that_wavers_between_labels_and_scores_does_not_break_the_track():
    tracker, rng = KalmanTracker(TrackSettings()), random.Random(1)
    found = [
        tracker.update(
            [make_region(x=0.1 + 0.01 * i, label=rng.choice(["car", "truck"]), confidence=rng.uniform(0.1, 0.9))], 0.1
        )
        for i in range(50)
    ]
    assert len(numbers_of(found)) == 1


@pytest.mark.parametrize("fps", [5, 25])
def test_crossing_objects_keep_their_numbers(fps):
    tracker, seen = KalmanTracker(TrackSettings()), []
    for i in range(4 * fps):
        x = 0.8 * i / (4 * fps)
        regions = [make_region(x=x, y=0.30, w=0.15), make_region(x=0.8 - x, y=0.38, w=0.15)]
        seen.append(tracker.update(regions, 1 / fps))
    assert len(numbers_of(seen)) == 2
    assert seen[fps] == seen[-1]
    assert None not in seen[-1]


def test_a_small_fast_object_is_followed_at_5_frames_per_second():
    tracker = KalmanTracker(TrackSettings())
    found = walk(tracker, [0.05 + 0.12 * i / 5 for i in range(30)], fps=5, w=0.02, h=0.03)
    assert len(numbers_of(found)) == 1
    assert [frame for frame in found[2:] if frame == [None]] == []


def test_a_doubtful_box_leaves_the_track_to_a_sure_one_but_has_what_is_left():
    tracker = KalmanTracker(TrackSettings())
    walk(tracker, [0.3] * 10)
    (sure, _) = tracker.update([make_region(x=0.33, confidence=0.9), make_region(x=0.3, confidence=0.2)], 0.1)
    assert sure in tracker.alive()
    assert tracker.update([make_region(x=0.33, confidence=0.2)], 0.1) == [sure]


def test_an_object_is_confirmed_when_it_was_seen_so_long_at_any_rate():
    for fps in (1, 5, 10, 20, 25, 30):
        found = walk(KalmanTracker(TrackSettings(confirm_s=0.3)), [0.3] * 40, fps=fps)
        unconfirmed = [frame[0] for frame in found].index(0)
        assert unconfirmed == math.ceil(0.3 * fps - 1e-9)


@pytest.mark.parametrize("fps", [5, 10, 25])
@pytest.mark.parametrize(("missed", "confirmed"), [(1, {0}), (2, set()), (3, set())])
def test_an_object_seen_in_every_second_frame_is_confirmed_and_specks_that_come_and_go_are_not(fps, missed, confirmed):
    found = walk(KalmanTracker(TrackSettings()), [0.3, *[None] * missed] * 20, fps=fps)
    assert numbers_of(found) == confirmed


def test_an_object_that_was_not_seen_for_too_long_is_another_one():
    for gap_s, same in ((0.9, True), (1.1, False)):
        tracker = KalmanTracker(TrackSettings(lost_after_s=1.0))
        before = walk(tracker, [0.3] * 10)[-1]
        tracker.update([make_region(x=0.3)], gap_s)
        assert (walk(tracker, [0.3] * 10)[-1] == before) is same


def test_frames_far_apart_do_not_end_every_track():
    assert len(numbers_of(walk(KalmanTracker(TrackSettings()), [0.3] * 10, fps=0.4))) == 1


@pytest.mark.parametrize("jump_s", [3600.0, 1e308, math.inf])
def test_a_jump_of_time_ends_the_tracks_and_what_follows_is_tracked(jump_s):
    tracker = KalmanTracker(TrackSettings())
    before = numbers_of(walk(tracker, [0.3] * 10))
    assert tracker.update([], jump_s) == []
    assert tracker.alive() == set()
    after = numbers_of(walk(tracker, [0.3] * 10))
    assert len(after) == 1
    assert after.isdisjoint(before)


def test_tracks_end_even_where_time_stands_still():
    tracker = KalmanTracker(TrackSettings(lost_after_s=0.5))
    walk(tracker, [0.3] * 10)
    for _ in range(200):
        tracker.update([], 0.0)
    assert tracker.alive() == set()


def carried(region, x, age_s=0.1, **more):
    """The region as its detect node moves it on."""
    return make_region(x=x, age_s=age_s, identity=region.identity, **more)


def test_what_was_carried_on_has_the_track_of_its_detection_whatever_lies_near_it():
    tracker = KalmanTracker(TrackSettings(confirm_s=0.0))
    left, right = make_region(x=0.2, identity=7), make_region(x=0.5, identity=8)
    numbers = tracker.update([left, right], 0.1)
    assert tracker.update([carried(left, 0.5), carried(right, 0.2)], 0.1) == numbers
    assert tracker.update([make_region(x=0.2), make_region(x=0.5)], 0.1) == numbers


def test_a_carried_box_is_no_measurement():
    tracker, other = (KalmanTracker(TrackSettings(confirm_s=0.0)) for _ in range(2))
    for step in range(5):
        region = make_region(x=0.1 + 0.02 * step, identity=1)
        assert tracker.update([region], 0.1) == other.update([region], 0.1)
    assert tracker.update([carried(region, 0.6)], 0.1) == [0]
    other.update([], 0.1)
    assert tracker.centres(0.1)[0] == pytest.approx(other.centres(0.1)[0])


def test_a_carried_region_of_nobody_is_nobody():
    tracker = KalmanTracker(TrackSettings(confirm_s=0.0))
    tracker.update([make_region(x=0.3, identity=1)], 0.1)
    strangers = [
        make_region(x=0.3, age_s=0.1),
        make_region(x=0.3, age_s=0.1, identity=2),
        make_region(x=0.3, age_s=0.1, identity=1, node="other"),
    ]
    assert tracker.update(strangers, 0.1) == [None, None, None]
    same = make_region(x=0.3, age_s=0.1, identity=1)
    assert tracker.update([same, same], 0.1) == [0, None]


def test_an_object_is_not_lost_while_it_is_carried():
    tracker = KalmanTracker(TrackSettings(lost_after_s=1.0))
    region = make_region(x=0.3, identity=1)
    (number,) = [tracker.update([region], 0.1) for _ in range(5)][-1]
    for _ in range(30):
        assert tracker.update([carried(region, 0.3)], 0.1) == [number]


def test_a_speck_that_was_carried_on_is_not_confirmed_by_that_but_an_object_that_is_detected_again_is():
    for again in (False, True):
        tracker = KalmanTracker(TrackSettings(confirm_s=0.3))
        speck = make_region(x=0.3, confidence=0.4, identity=1)
        tracker.update([speck], 0.1)
        for _ in range(4):
            assert tracker.update([carried(speck, 0.3, confidence=0.4)], 0.1) == [None]
        assert tracker.update([speck] if again else [make_region(x=0.8)], 0.1) == [0 if again else None]


def test_the_names_that_detect_nodes_give_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 5)
    tracker = KalmanTracker(TrackSettings(confirm_s=0.0))
    for identity in range(20):
        latest = make_region(x=0.3, identity=identity)
        tracker.update([latest], 0.1)
    assert len(tracker._carried) == 5
    assert tracker.update([carried(latest, 0.3)], 0.1) == [0]


def test_a_copy_goes_on_by_itself():
    tracker = KalmanTracker(TrackSettings(confirm_s=0.0))
    walk(tracker, [0.3] * 5)
    twin = tracker.copy()
    walk(twin, [0.3, 0.9, 0.9], identity=3)
    assert walk(tracker, [0.35, 0.9]) == [[0], [1]]
    assert tracker.update([make_region(x=0.9, age_s=0.1, identity=3)], 0.1) == [None]


def test_only_a_known_step_is_told():
    tracker = KalmanTracker(TrackSettings())
    walk(tracker, [0.3], fps=10)
    assert tracker.centres(0.1) == {}
    walk(tracker, [0.3 + 0.01 * step for step in range(1, 20)], fps=10)
    assert tracker.centres(0.1)[0] == pytest.approx((0.6, 0.2), abs=0.01)
    assert tracker.centres(60.0) == {}


def test_the_gate_is_the_settings():
    for limit, same in ((0.3, False), (0.8, True)):
        tracker = KalmanTracker(TrackSettings(max_distance=limit))
        before = walk(tracker, [0.3] * 20)[-1]
        assert (tracker.update([make_region(x=0.4)], 0.1) == before) is same


def test_the_work_and_the_tracks_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_OBJECTS", 20)
    tracker, rng = KalmanTracker(TrackSettings(confirm_s=0.0, lost_after_s=1e4)), np.random.default_rng(1)
    for _ in range(20):
        regions = [make_region(x=x, y=y, w=0.01, h=0.01, confidence=c) for x, y, c in rng.random((50, 3))]
        numbers = tracker.update(regions, 0.04)
        followed = [region.confidence for region, number in zip(regions, numbers, strict=True) if number is not None]
        assert sorted(followed) == sorted(region.confidence for region in regions)[-20:]
        assert len(tracker.alive()) <= 20


def test_boxes_of_no_area_and_beyond_the_frame_are_followed():
    tracker = KalmanTracker(TrackSettings())
    point, beyond = make_region(x=0.5, w=0.0, h=0.0), make_region(x=1.2)
    point.box = Box(0.5, 0.5, 0.5, 0.5)
    for _ in range(5):
        numbers = tracker.update([point, beyond], 0.1)
    assert sorted(numbers) == [0, 1]
