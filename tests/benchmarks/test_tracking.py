"""The comparison of trackers: what is counted, and that both are given the same."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.tracking import headline
from benchmarks.tracking_parts import recordings
from benchmarks.tracking_parts.play import Played, play
from benchmarks.tracking_parts.recordings import Found, Moment, Street, made, recorded, truth
from benchmarks.tracking_parts.scores import overlap, score
from datasets.street import StreetObject
from operators.track.tracker import KalmanTracker, TrackSettings

STREET = Street(3, "day", 5, 4.0)


@pytest.fixture(scope="module")
def moments() -> list[Moment]:
    return truth(STREET)


@pytest.fixture
def motmetrics() -> None:
    pytest.importorskip("motmetrics", reason="motmetrics is missing: pip install 'sluice-video[dev]'")


def walk(frames: int) -> list[Moment]:
    """One car that crosses the frame, and a speck that need not be found."""
    moments = []
    for i in range(frames):
        car = StreetObject(7, "car", (0.02 * i, 0.4, 0.02 * i + 0.2, 0.5), 1.0)
        speck = StreetObject(8, "person", (0.9, 0.1, 0.91, 0.11), 1.0)
        boxes = [Found(one.box, one.label, 0.9) for one in (car, speck)]
        moments.append(Moment(i / 10, [car, speck], boxes))
    return moments


@pytest.mark.usefixtures("motmetrics")
def test_a_perfect_tracker_has_a_perfect_score_whatever_it_says_of_what_does_not_count() -> None:
    for speck in (2, None):
        found = score(walk(20), [[1, speck]] * 20)
        assert (found["mota"], found["idf1"], found["id_switches"]) == (1.0, 1.0, 0)


@pytest.mark.usefixtures("motmetrics")
def test_another_number_is_a_switch_and_none_is_a_miss() -> None:
    changed = score(walk(20), [[1, None]] * 10 + [[2, None]] * 10)
    assert (changed["id_switches"], changed["misses"], changed["mota"]) == (1, 0, pytest.approx(0.95))
    late = score(walk(20), [[None, None]] * 5 + [[1, None]] * 15)
    assert (late["misses"], late["mota"]) == (5, pytest.approx(0.75))


def test_overlaps_are_shares_of_the_union() -> None:
    assert overlap([(0, 0, 0.2, 0.2)], [(0.1, 0, 0.3, 0.2), (0.5, 0.5, 0.6, 0.6)]).tolist()[0] == pytest.approx(
        [1 / 3, 0]
    )


def test_the_same_seed_makes_the_same_boxes_and_they_are_worse_than_the_truth(moments: list[Moment]) -> None:
    assert made(moments, 1) == made(moments, 1) != made(moments, 2)
    true = {one.box for moment in moments for one in moment.truth}
    assert not any(one.box in true for moment in made(moments, 1) for one in moment.found)


def test_recordings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "CACHE", tmp_path)
    first = recorded(STREET, "made")
    monkeypatch.setattr(recordings, "truth", lambda street: pytest.fail("the street was drawn again"))
    assert recorded(STREET, "made") == first


def test_every_box_of_every_frame_is_answered(moments: list[Moment]) -> None:
    given = msgspec.json.decode(msgspec.json.encode(made(moments, 1)))
    played = play(KalmanTracker(TrackSettings()), given)
    assert [len(numbers) for numbers in played.numbers] == [len(moment["found"]) for moment in given]
    assert isinstance(played, Played)
    assert played.cpu_s > 0


def test_the_headline_has_means_and_sums_by_case() -> None:
    rows = [
        {"fps": 5, "boxes": "made", "tracker": name, "mota": m, "idf1": m, "id_switches": n, "ms_per_frame": 0.5}
        for name, m, n in (("own", 0.8, 1), ("own", 0.6, 2), ("norfair", 0.5, 9))
    ]
    assert headline(rows) == {
        "made, 5 fps": {
            "mota": [0.7, 0.5],
            "idf1": [0.7, 0.5],
            "id_switches": [3, 9],
            "ms_per_frame": [0.5, 0.5],
        }
    }
