"""Tracks keep their ids where a recording's analysis was broken off."""

from __future__ import annotations

from pipelines.run.jobs.output import PastFrame
from pipelines.run.jobs.recording import SameTracks
from tests.pipelines.run.jobs.results import found, result


def tracks(same: SameTracks, *results) -> list[list[int | None] | None]:  # type: ignore[no-untyped-def]
    """Ids of the tracks of each result; None: it is durable."""
    taken = map(same.of, results)
    return [None if each is None else [one.track_id for one in each.objects] for each in taken]


def past(*results) -> list[PastFrame]:  # type: ignore[no-untyped-def]
    return [PastFrame.of(each) for each in results]


def test_a_track_of_the_lead_in_gets_its_old_id() -> None:
    same = SameTracks(past(result(4, found(1000)), result(5, found(1000))))
    assert tracks(same, result(4, found(None)), result(5, found(5000)), result(6, found(5000), found(6000, 0.6))) == [
        None,
        None,
        [1000, 6000],
    ]


def test_what_overlaps_little_or_is_called_otherwise_is_another_object() -> None:
    same = SameTracks(past(result(4, found(1000), found(2000, 0.6))))
    assert tracks(same, result(4, found(4000, 0.24), found(4001, 0.6, "bus")), result(5, found(4000), found(4001))) == [
        None,
        [4000, 4001],
    ]


def test_the_best_pair_of_a_frame_wins_and_the_latest_frame_decides() -> None:
    same = SameTracks(past(result(4, found(1, 0.1), found(2, 0.15)), result(5, found(1, 0.5), found(2, 0.1))))
    lead = result(4, found(7, 0.1), found(8, 0.15)), result(5, found(7, 0.1), found(8, 0.5))
    assert tracks(same, *lead, result(6, found(7), found(8))) == [None, None, [2, 1]]


def test_a_frame_before_the_lead_in_teaches_nothing_and_a_fresh_run_changes_nothing() -> None:
    assert tracks(SameTracks(past(result(4, found(1)))), result(3, found(9)), result(5, found(9))) == [None, [9]]
    first = result(0, found(3))
    assert SameTracks([]).of(first) is first
