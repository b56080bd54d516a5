"""Tracks: identities that last, ids that a restarted worker cannot repeat, time and not frames as the measure."""

import math

import pytest

from operators.testing import CALL, make_frame, make_region
from operators.track.operator import FEW, IDS_PER_FRAME, Track
from operators.track.tracker import TrackSettings


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
    assert (await follow(track, [0.1] * 10, fps=10, first_seq=60))[-1] is not None


@pytest.mark.parametrize("jump_s", [1e308, -1e308, 7200.0, -7200.0, float("inf"), float("nan")])
async def test_one_frame_with_a_wild_time_ends_the_tracks_and_no_later_frame_fails(jump_s):
    track = Track()
    before = await follow(track, [0.1] * 10, fps=10)
    await track.process(make_frame(seq=10, media_time_s=jump_s), [make_region()], CALL)
    after = await follow(track, [0.1] * 10, fps=10, first_seq=11)
    assert after[-1] is not None
    assert set(known(after)).isdisjoint(known(before)) or math.isnan(jump_s)


async def test_time_that_runs_back_a_little_does_not_break_the_track():
    track, ids = Track(), set()
    for seq, time_s in enumerate([0.0, 0.1, 0.2, 0.3, 0.25, 0.4, 0.35, 0.5]):
        regions = [make_region()]
        await track.process(make_frame(seq=seq, media_time_s=time_s), regions, CALL)
        ids |= set(known([regions[0].track_id]))
    assert len(ids) == 1


async def test_a_crowd_is_tracked_as_a_few_are():
    track, ids = Track(), []
    for seq in range(5):
        regions = [make_region(x=0.01 * i, y=0.01 * (i % 7), w=0.02, h=0.02) for i in range(2 * FEW)]
        await track.process(make_frame(seq=seq, media_time_s=seq / 10), regions, CALL)
        ids.append([region.track_id for region in regions])
    assert len(set(ids[-1])) == 2 * FEW
    assert ids[-1] == ids[-2]


async def test_ids_do_not_depend_on_the_order_of_regions():
    seen = []
    for step in (1, -1):
        track = Track()
        for seq in range(5):
            regions = [make_region(x=x) for x in (0.1, 0.4, 0.7)][::step]
            await track.process(make_frame(seq=seq, media_time_s=seq / 10), regions, CALL)
        seen.append({region.box: region.track_id for region in regions})
    assert seen[0] == seen[1]
