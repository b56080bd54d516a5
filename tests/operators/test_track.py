"""Tracks: identities that last, ids that a restarted worker cannot repeat, time and not frames as the measure."""

import pytest

from operators.track import IDS_PER_FRAME, Track, TrackSettings
from tests.operators.support import CALL, make_frame, make_region


async def follow(track, positions, fps, first_seq=0, run="run-1", width=0.2):
    """Feed one moving region per frame (None: nothing found); returns its ids."""
    ids = []
    for i, x in enumerate(positions):
        regions = [] if x is None else [make_region(x=x, w=width)]
        frame = make_frame(seq=first_seq + i, media_time_s=(first_seq + i) / fps, run=run)
        assert await track.process(frame, regions, CALL) == []
        ids.append(regions[0].track_id if regions else None)
    return ids


def known(ids):
    return [id_ for id_ in ids if id_ is not None]


@pytest.mark.parametrize("fps", [5, 12, 25])
async def test_a_moving_object_keeps_one_id_at_any_frame_rate(fps):
    speed = 0.15  # of the frame per second
    ids = await follow(Track(), [0.1 + speed * i / fps for i in range(4 * fps)], fps)
    assert len(set(known(ids))) == 1
    assert len(known(ids)) >= 3 * fps


async def test_an_id_survives_a_short_gap_but_not_a_long_one():
    track, fps = Track(TrackSettings(lost_after_s=1.0)), 10
    ids = await follow(track, [0.3] * 10 + [None] * 4 + [0.3] * 10 + [None] * 15 + [0.3] * 10, fps)
    first, after_short, after_long = ids[5], ids[20], ids[-1]
    assert first == after_short != after_long
    assert None not in (first, after_long)


async def test_a_single_speck_gets_no_id():
    ids = await follow(Track(), [0.3, None, None, None], fps=25)
    assert known(ids) == []


async def test_ids_name_the_frame_of_birth_so_a_restarted_worker_cannot_repeat_one():
    before = await follow(Track(), [0.1] * 10, fps=10)
    after = await follow(Track(), [0.1] * 10, fps=10, first_seq=10)
    assert set(known(before)).isdisjoint(known(after))
    assert all(id_ // IDS_PER_FRAME in range(10, 20) for id_ in known(after))


async def test_two_objects_born_together_have_different_ids():
    track = Track()
    for i in range(5):
        regions = [make_region(x=0.1), make_region(x=0.6)]
        await track.process(make_frame(seq=i, media_time_s=i / 10), regions, CALL)
    ids = {region.track_id for region in regions}
    assert len(ids) == 2
    assert None not in ids


async def test_streams_and_runs_do_not_share_tracks():
    track = Track()
    await follow(track, [0.1] * 10, fps=10)
    assert (await follow(track, [0.1] * 10, fps=10, run="run-2"))[0] is None


async def test_forget_drops_the_stream():
    track = Track()
    await follow(track, [0.1] * 10, fps=10)
    track.forget("cam")
    assert (await follow(track, [0.1], fps=10, first_seq=10)) == [None]


async def test_time_that_stands_still_or_runs_back_is_survived():
    track = Track()
    for seq, time_s in enumerate([5.0, 5.0, 0.0, 0.0, 5.1]):
        await track.process(make_frame(seq=seq, media_time_s=time_s), [make_region()], CALL)
