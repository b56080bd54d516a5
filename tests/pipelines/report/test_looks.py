"""Who looked, and how steady the answers were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.wire.schema import Object, Provenance
from pipelines.report.tracks import LookCounts, LookReport
from tests.operators.publish.messages import result, thing


def said(track: int | None, label: str, by: Provenance = "track", looked: Provenance | None = None) -> Object:
    known = thing(track, "car", label)
    return replace(known, attributes=[replace(known.attributes[0], provenance=by, looked=looked)])


def reported(*frames: list[Object]) -> list[LookReport]:
    looks = LookCounts()
    for seq, objects in enumerate(frames):
        looks.see(result(seq, *objects))
    return looks.report()


def test_looks_are_counted_by_who_made_them_and_by_track() -> None:
    (found,) = reported(
        [said(1, "van", looked="oracle"), said(2, "bus", looked="specialised"), said(None, "van", "oracle")],
        [said(1, "van"), said(2, "bus")],
        [said(1, "bus", looked="oracle"), said(2, "bus")],
    )
    assert found == LookReport(found.attribute, 7, {"oracle": 3, "specialised": 1}, 1.5, 0.25)


def test_an_answer_per_look_is_a_look() -> None:
    (found,) = reported([said(1, "van", "oracle")], [said(1, "bus", "variant")])
    assert (found.looks, found.looks_per_track, found.flicker) == ({"oracle": 1, "variant": 1}, 2.0, 1.0)


def test_without_tracks_there_is_neither_flicker_nor_a_number_per_track() -> None:
    (found,) = reported([said(None, "van", "oracle")])
    assert (found.looks_per_track, found.flicker) == (None, None)


def test_of_objects_without_answers_nothing_is_told() -> None:
    assert reported([thing(1, "car")]) == []


def test_a_track_of_another_run_is_another() -> None:
    looks = LookCounts()
    looks.see(result(0, said(1, "van"), run="a"))
    looks.see(result(0, said(1, "bus"), run="b"))
    (found,) = looks.report()
    assert found.flicker is None


@given(st.lists(st.integers(0, 50), max_size=80))
def test_tracks_are_bounded(tracks: list[int]) -> None:
    looks = LookCounts(remembered=3)
    for seq, track in enumerate(tracks):
        looks.see(result(seq, said(track, "van")))
        assert len(looks._last) <= 3
