"""What a detector would say if it did not flicker: the objects that it sees in most of five frames. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.whole_parts.compared import Lines

AROUND = 2
"""Frames before a frame and after it that are asked."""
Tracks = Sequence[Mapping[int | None, Mapping[str, Any]]]
"""The detections of each frame, by track id."""
CORNERS = ("x_min", "y_min", "x_max", "y_max")


def stabilised(lines: Lines) -> Lines:
    """Return each frame with the tracks that are in more than half of the frames around it. Objects have track ids.

    A track that is missing in the frame itself lies between its places before and after; one of several labels gives
    way to the most frequent. Frames have their objects' boxes, labels and confidences only.
    """
    tracks = [{each["track_id"]: each["detection"] for each in line["objects"]} for line in lines]
    return [{"objects": _objects(tracks, at)} for at in range(len(tracks))]


def _objects(tracks: Tracks, at: int) -> list[Mapping[str, Any]]:
    around = range(max(0, at - AROUND), min(len(tracks), at + AROUND + 1))
    seen = Counter(track for frame in around for track in tracks[frame] if track is not None)
    return [
        {"detection": _detection(tracks, at, [frame for frame in around if track in tracks[frame]], track)}
        for track, count in seen.items()
        if 2 * count > len(around)
    ]


def _detection(tracks: Tracks, at: int, frames: Sequence[int], track: int | None) -> Mapping[str, Any]:
    labels = Counter(tracks[frame][track]["label"] for frame in frames)
    nearest = min(frames, key=lambda frame: abs(frame - at))
    own = tracks[nearest][track]
    label = max(labels, key=lambda each: (labels[each], each == own["label"]))
    return {**own, "label": label, "bounding_box": _box(tracks, at, frames, track)}


def _box(tracks: Tracks, at: int, frames: Sequence[int], track: int | None) -> Mapping[str, float]:
    before = max((frame for frame in frames if frame <= at), default=frames[0])
    after = min((frame for frame in frames if frame >= at), default=frames[-1])
    first, last = (tracks[frame][track]["bounding_box"] for frame in (before, after))
    share = (at - before) / (after - before) if after > before else 0.0
    return {each: first[each] + share * (last[each] - first[each]) for each in CORNERS}
