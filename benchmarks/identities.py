"""Whether objects keep who they are where the detector skips frames: tracks on every frame, live, and looking ahead.

Six generated streets and three crowds of persons, whose truth is known, at 5, 10 and 25 frames/s. The detector's boxes
are true ones made as bad as a poor detector's (``made``), or what ``yolox-nano`` reports. They are known for every
frame; each rule, at its first pace, asks for those of the frames on which it runs the detector, moves them with the
pictures of the street, and the tracker has its default settings. ``detected`` is the share of frames on which the
detector runs, ``idf1`` and ``id_switches`` are against the truth. ``crossings`` counts who crosses three upright lines
inside of the picture, as ``zones`` nodes do; ``crossed`` is the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

import cv2

from benchmarks.harness import Outcome, Row, run
from benchmarks.skipping_parts.recorded import copies
from benchmarks.skipping_parts.replay import Answered, Detect, LookAhead, Needed, Rule
from benchmarks.tracking_parts.recordings import MADE, Found, Moment, Street, recorded
from benchmarks.tracking_parts.scores import Ids, score
from datasets.street import open_street
from operators.detect.agreement import UNSURE
from operators.frames.frame import Box, Frame, Region, frame_of
from operators.track.tracker import KalmanTracker, TrackSettings
from operators.wire.schema import FrameId
from operators.zones.geometry import Sighting, SightingMoment
from operators.zones.layout import Layout, Line
from operators.zones.presence import Hysteresis
from operators.zones.visits import Visits

DETECTOR = "yolox-nano"
RATES, DURATION_S, PACE, SURE = (5, 10, 25), 20.0, 3, 0.3 + UNSURE
EVERY_FRAME, LIVE, AHEAD = "every frame", "live", "look-ahead"
LINES = tuple(Line(f"line-{x}", ((x, 0.0), (x, 1.0))) for x in (0.25, 0.5, 0.75))
ENDED_S = 3.0
"""A track that was not seen for so long has ended."""


class Always:
    """The detector runs on every frame."""

    def answer(self, frame: Frame, detect: Detect) -> Answered:
        """See ``Rule``."""
        return Answered(detect(frame), True)


def measure(quick: bool) -> Outcome:
    """One row for each scene, rate, kind of boxes and rule; ``quick``: one crowd, 4 s."""
    cv2.setNumThreads(1)
    if quick:
        cases = [(Street(31, "day", 10, 4.0, persons_only=True), MADE)]
    else:
        streets = [(seed, light, False) for seed, light in product((21, 22, 23), ("day", "night"))]
        crowds = [(seed, "day", True) for seed in (31, 32, 33)]
        cases = [
            (Street(seed, light, fps, DURATION_S, crowd), boxes)
            for (seed, light, crowd), fps in product([*streets, *crowds], RATES)
            for boxes in ((MADE,) if crowd else (MADE, DETECTOR))
        ]
    rows = [row for street, boxes in cases for row in _rows(street, boxes)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """By scene, rate and rule: IDF1, switches and crossings as shares of those on every frame, and the detections."""
    found: dict[str, Any] = {}
    for scene, fps, rule in product(_scenes(rows), RATES, (LIVE, AHEAD)):
        mine, all_frames = _of(rows, scene, fps, rule), _of(rows, scene, fps, EVERY_FRAME)
        if mine:
            found[f"{scene}, {fps} fps, {rule}"] = {
                "idf1": round(fmean(_all(mine, "idf1")) / fmean(_all(all_frames, "idf1")), 3),
                "id_switches": _share(mine, all_frames, "id_switches"),
                "crossings": _share(mine, all_frames, "crossings"),
                "detected": round(fmean(_all(mine, "detected")), 3),
            }
    return found


def crossings(seen: Sequence[tuple[float, Sequence[tuple[int, Region]]]]) -> int:
    """Crossings of the lines by tracks: for each frame its media time, and its regions with their tracks."""
    visits, last_s, count = Visits(Layout(lines=LINES), Hysteresis()), dict[int, float](), 0
    for media_time_s, tracked in seen:
        visits.move()
        for track, region in tracked:
            instant = SightingMoment(media_time_s, media_time_s)
            count += len(visits.see(Sighting(track, region.box, region.label, instant)))
            last_s[track] = media_time_s
        for track in [track for track, then_s in last_s.items() if media_time_s - then_s > ENDED_S]:
            count += len(visits.end(track))
            del last_s[track]
    return count + sum(len(visits.end(track)) for track in last_s)


def _rows(street: Street, boxes: str) -> Iterator[Row]:
    moments = recorded(street, boxes)
    frames = [
        frame_of(FrameId("street", "run", seq), each.image, each.media_time_s)
        for seq, each in enumerate(open_street(street.options))
    ]
    known = [
        [Region(i, "detect", Box(*one.box), one.label, one.confidence) for i, one in _places(moment)]
        for moment in moments
    ]
    truth = [
        (moment.media_time_s, [(one.id, _region(one.box, one.label)) for one in moment.truth]) for moment in moments
    ]
    crossed = crossings(truth)
    rules: Mapping[str, Rule] = {EVERY_FRAME: Always(), LIVE: Needed(PACE), AHEAD: LookAhead(PACE, SURE, frames)}
    for name, rule in rules.items():
        answered = [rule.answer(frame, lambda each: copies(known[each.seq])) for frame in frames]
        tracks = tracked(frames, answered)
        row = {
            "scene": "crowd" if street.persons_only else "street",
            "seed": street.seed,
            "light": street.light,
            "fps": street.fps,
            "boxes": boxes,
            "rule": name,
            "frames": len(frames),
            "detected": round(fmean(each.detected for each in answered), 4),
            **_scores(moments, answered, tracks),
            "crossings": crossings(_seen(frames, answered, tracks)),
            "crossed": crossed,
        }
        print(row, file=sys.stderr, flush=True)
        yield row


def tracked(frames: Sequence[Frame], answered: Sequence[Answered]) -> list[Ids]:
    """The track of every region of every frame."""
    tracker, last_s, found = KalmanTracker(TrackSettings()), frames[0].media_time_s, list[Ids]()
    for frame, each in zip(frames, answered, strict=True):
        found.append(tracker.update(each.regions, frame.media_time_s - last_s))
        last_s = frame.media_time_s
    return found


def _scores(moments: Sequence[Moment], answered: Sequence[Answered], tracks: Sequence[Ids]) -> Mapping[str, Any]:
    shown = [
        Moment(moment.media_time_s, moment.truth, [_found(region) for region in each.regions])
        for moment, each in zip(moments, answered, strict=True)
    ]
    found = score(shown, tracks)
    return {
        "objects": int(found["objects"]),
        "id_switches": int(found["id_switches"]),
        "idf1": round(found["idf1"], 4),
        "mota": round(found["mota"], 4),
    }


def _seen(
    frames: Sequence[Frame], answered: Sequence[Answered], tracks: Sequence[Ids]
) -> list[tuple[float, list[tuple[int, Region]]]]:
    return [
        (frame.media_time_s, [(id_, one) for id_, one in zip(ids, each.regions, strict=True) if id_ is not None])
        for frame, each, ids in zip(frames, answered, tracks, strict=True)
    ]


def _places(moment: Moment) -> list[tuple[int, Found]]:
    return [(i, one) for i, one in enumerate(moment.found) if one.box[0] < one.box[2] and one.box[1] < one.box[3]]


def _region(box: tuple[float, float, float, float], label: str) -> Region:
    return Region(0, "truth", Box(*box), label, 1.0)


def _found(region: Region) -> Found:
    box = region.box
    return Found((box.x_min, box.y_min, box.x_max, box.y_max), region.label, region.confidence)


def _scenes(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(f"{row['scene']}, {row['boxes']}" for row in rows))


def _of(rows: Sequence[Row], scene: str, fps: int, rule: str) -> list[Row]:
    wanted = (scene, fps, rule)
    return [row for row in rows if (f"{row['scene']}, {row['boxes']}", row["fps"], row["rule"]) == wanted]


def _all(rows: Sequence[Row], key: str) -> list[float]:
    return [row[key] for row in rows]


def _share(mine: Sequence[Row], others: Sequence[Row], key: str) -> float:
    return round(sum(_all(mine, key)) / max(1, sum(_all(others, key))), 3)


def _draw(rows: Sequence[Row], figure: Any) -> None:
    scenes, shown = _scenes(rows), {"idf1": "IDF1", "id_switches": "switches of identity", "crossings": "crossings"}
    for axes, (key, title) in zip(figure.subplots(1, 3), shown.items(), strict=True):
        for place, (scene, fps) in enumerate(product(scenes, RATES)):
            for step, rule in enumerate((EVERY_FRAME, LIVE, AHEAD)):
                values = _all(_of(rows, scene, fps, rule), key)
                height = (fmean if key == "idf1" else sum)(values) if values else 0
                axes.barh(place + 0.27 * (step - 1), height, 0.25, color=f"C{step}", label=rule if not place else None)
        axes.set_yticks(range(len(scenes) * len(RATES)), [f"{a}, {b}/s" for a, b in product(scenes, RATES)], fontsize=6)
        axes.set_title(title, fontsize=9)
    figure.axes[0].legend(fontsize=7)


if __name__ == "__main__":
    run("identities", measure, __doc__ or "")
