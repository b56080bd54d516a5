"""Detectors on pictures of their camera's shape, with one convolution in place of slices: cost, and the same answers.

One row for each clip and way of running ``yolox-nano``. ``square`` is the network as published, ``before`` the same
on frames that are made images first, as all frames were; ``simpler`` has one convolution in place of slices, and
pools in a row; ``rectangle`` has the picture's shape; ``both`` is what is run by default. These show the picture at
the same scale. ``both, 544`` and so on have that longer side. ``node_ms`` is processor time of a detect node for one
frame, from its pixels to its regions, ``net_ms`` that of the network in it, one thread, the median of rounds in which
all ways take turns in random order; ``ratio`` and ``ratio_before`` are medians of how many times as much these two
take in a round. ``boxes`` counts those of .5 and more of this way and the square, ``firm`` is the share of boxes of
.5 and more, of this way or the square, for which the other has one of .3 and more of the same class in the same
place; ``hard`` the same with .4 on both sides, a threshold that the same picture as a JPEG (``floor``) does not pass
unchanged either. ``small_recall`` is the share of objects below 1 % of the frame that this way finds, of those of
which the network is sure at the clip's full width or as published. On ``photos`` (COCO's, with truth) each has its
own shape.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import av
import cv2
import numpy as np

from benchmarks.harness import Outcome, Row, interleaved, run
from benchmarks.shapes_parts.same import Found, Truth, count, firm, mean_precision, merged, recall
from benchmarks.shapes_parts.ways import Node, Way
from benchmarks.tracking_parts.recordings import models
from operators.frames.frame import Frame, frame_of
from operators.frames.planes import Pixels, Planes
from operators.wire.schema import FrameId
from serving.common.tensors import Image
from serving.variants.profiles import installed

DATA = Path(os.environ.get("SLUICE_DATA", "../shared/data"))
PHOTOS = DATA / "images" / "coco128_val"
STEP, FRAMES, QUICK_FRAMES = 9, 40, 4
"""Every so-manieth frame of a clip, and so many of them."""
TIMED = 12
"""Frames of a clip of which the time is taken."""
ROUNDS, QUICK_ROUNDS = 5, 2
SURE, HARD = 0.5, 0.4
LEAST = 0.01
"""Confidence from which boxes count for mAP."""

SQUARE = Way("square")
BEFORE = Way("before", image=True)
BOTH = Way("both", fits=True, simpler=True)
WAYS = (
    SQUARE,
    BEFORE,
    Way("simpler", simpler=True),
    Way("rectangle", fits=True),
    BOTH,
    *(Way(f"both, {width}", width, fits=True, simpler=True) for width in (544, 640, 832)),
    Way("both, bf16", fits=True, simpler=True, variant="yolox-nano@openvino-bf16"),
)


def _whole(image: Image) -> Image:
    return image


def _narrow(image: Image, share: float) -> Image:
    """The middle of a picture, of so many columns for each row."""
    height, width = image.shape[:2]
    left = (width - round(height * share)) // 2
    return np.ascontiguousarray(image[:, left : width - left])


def _enlarged(image: Image) -> Image:
    return np.asarray(cv2.resize(image, (1280, 720), interpolation=cv2.INTER_CUBIC), np.uint8)


CLIPS: Mapping[str, tuple[str, Callable[[Image], Image]]] = {
    "people": ("one-by-one-person-detection.mp4", _whole),
    "car park": ("car-detection.mp4", _whole),
    "crossing": ("person-bicycle-car-detection.mp4", _whole),
    "crossing, 1280 × 720": ("person-bicycle-car-detection.mp4", _enlarged),
    "street level": ("street-level.mp4", _whole),
    "crossing, 4:3": ("person-bicycle-car-detection.mp4", partial(_narrow, share=4 / 3)),
    "street level, upright": ("street-level.mp4", partial(_narrow, share=9 / 16)),
}
WIDE = ("people", "car park", "crossing", "crossing, 1280 × 720", "street level")


def measure(quick: bool) -> Outcome:
    """One row for each clip and way; ``quick``: the beginning of one clip."""
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory(prefix="sluice-shapes-") as scratch:
        folder = models("yolox-nano", Path(scratch) / "models")
        ways = [way for way in WAYS if "openvino" not in way.variant or installed("openvino")]
        rows = [row for clip in (["crossing"] if quick else CLIPS) for row in _rows(clip, ways, folder, quick)]
        rows += [] if quick else _photos([SQUARE, BOTH], folder)
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """What the default spares on 16:9, how far it says the same, and what a wider input finds at the square's cost."""
    both = [row for row in rows if row["way"] == "both"]
    wide = [row for row in both if row["clip"] in WIDE]
    photos = {row["way"]: row["map"] for row in rows if row["clip"] == "photos"}
    return {
        "ratio": {row["clip"]: row["ratio"] for row in both if row["ratio"] != ""},
        "ratio_before": {row["clip"]: row["ratio_before"] for row in both if row["ratio"] != ""},
        "firm": round(sum(row["firm"] * row["boxes"] for row in wide) / sum(row["boxes"] for row in wide), 4),
        "firm_least": min(row["firm"] for row in wide),
        "map_lost": round(photos["square"] - photos["both"], 2) if photos else None,
        "small_recall": {
            row["clip"]: [row["small_recall"], _of(rows, row["clip"], "both, 544")["small_recall"]]
            for row in rows
            if row["way"] == "square" and row["clip"] in WIDE
        },
    }


def _of(rows: Sequence[Row], clip: str, way: str) -> Row:
    return next(row for row in rows if (row["clip"], row["way"]) == (clip, way))


def _rows(clip: str, ways: Sequence[Way], folder: Path, quick: bool) -> Iterator[Row]:
    frames = list(islice(_frames(clip), QUICK_FRAMES if quick else FRAMES))
    nodes = {way.name: Node(way, folder) for way in ways}
    found = {name: node.found(frames) for name, node in nodes.items()}
    found["floor"] = nodes["square"].found([_as_jpeg(frame) for frame in frames])
    widest = Node(Way("widest", frames[0].width // 32 * 32, fits=True, simpler=True), folder).found(frames)
    wanted = merged(widest, found["square"], SURE)
    costs = interleaved(
        {name: partial(node.costs_s, frames[:TIMED]) for name, node in nodes.items()}, QUICK_ROUNDS if quick else ROUNDS
    )
    for name in [*nodes, "floor"]:
        row = {"clip": clip, "way": name, "frames": len(frames), **_cost(costs, name, len(frames[:TIMED]))}
        row |= _agreement(found["square"], found[name], wanted)
        print(row, flush=True)
        yield row


def _cost(costs: Mapping[str, Sequence[tuple[float, float]]], name: str, frames: int) -> Row:
    if name not in costs:
        return {"node_ms": "", "net_ms": "", "ratio": "", "ratio_before": ""}
    nodes, nets = zip(*costs[name], strict=True)
    ratios = {
        key: round(median(other[0] / node for other, node in zip(costs[way], nodes, strict=True)), 3)
        for key, way in (("ratio", "square"), ("ratio_before", "before"))
    }
    return {
        "node_ms": round(1e3 * median(nodes) / frames, 2),
        "net_ms": round(1e3 * median(nets) / frames, 2),
        **ratios,
    }


def _agreement(square: Found, found: Found, wanted: Found) -> Row:
    return {
        "boxes": count(square, SURE) + count(found, SURE),
        "firm": round(firm(square, found), 4),
        "hard": round(firm(square, found, HARD, HARD), 4),
        "small_recall": round(recall(found, wanted), 3),
        "map": "",
        "ap50": "",
    }


def _photos(ways: Sequence[Way], folder: Path) -> Iterator[Row]:
    names = sorted(PHOTOS.glob("*.jpg"))
    frames = [_frame(np.asarray(cv2.imread(str(path)), np.uint8), 0) for path in names]
    square: Found = ()
    for way in ways:
        node = Node(way, folder, LEAST)
        found = node.found(frames)
        square = square or found
        truths = [_truth(path, node.engine.card("").classes) for path in names]
        precision, at_half = mean_precision(found, truths)
        row = {
            "clip": "photos",
            "way": way.name,
            "frames": len(frames),
            "node_ms": "",
            "net_ms": "",
            "ratio": "",
            "ratio_before": "",
        }
        row |= {**_agreement(square, found, [[] for _ in found]), "small_recall": ""}
        yield row | {"map": round(precision, 2), "ap50": round(at_half, 2)}


def _truth(photo: Path, classes: Sequence[str]) -> Truth:
    """The boxes of a photo by class; of the labels centre and size are given."""
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    path = PHOTOS / "labels" / f"{photo.stem}.txt"
    for line in path.read_text().splitlines() if path.exists() else ():
        index, x, y, width, height = (float(value) for value in line.split())
        found.setdefault(classes[int(index)], []).append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    return found


def _frames(clip: str) -> Iterator[Frame]:
    file, change = CLIPS[clip]
    with av.open(str(DATA / "videos" / file)) as container:
        for number, picture in enumerate(container.decode(video=0)):
            if number % STEP == 0:
                yield _frame(change(picture.to_ndarray(format="bgr24")), number)


def _frame(image: Image, number: int) -> Frame:
    return frame_of(FrameId("clip", "run", number), _in_planes(image))


def _in_planes(image: Image) -> Pixels:
    """The picture as a decoder gives it, where its sides are even."""
    if image.shape[0] % 2 or image.shape[1] % 2:
        return image
    return Planes(np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8), "yuv601")


def _as_jpeg(frame: Frame) -> Frame:
    _, data = cv2.imencode(".jpg", frame.image, [cv2.IMWRITE_JPEG_QUALITY, 95])
    return _frame(np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8), frame.seq)


def _draw(rows: Sequence[Row], figure: Any) -> None:
    measured = [row for row in rows if row["ratio"] != ""]
    cost, kept = figure.subplots(2, 1, sharex=True)
    clips = list(dict.fromkeys(row["clip"] for row in measured))
    ways = [way.name for way in WAYS if any(row["way"] == way.name for row in measured)]
    for place, way in enumerate(ways):
        of = [row for row in measured if row["way"] == way]
        spots = [clips.index(row["clip"]) + (place - len(ways) / 2) / (len(ways) + 2) for row in of]
        cost.bar(spots, [row["node_ms"] for row in of], 1 / (len(ways) + 2), label=way)
        kept.bar(spots, [row["small_recall"] for row in of], 1 / (len(ways) + 2))
    cost.set(ylabel="processor ms of a detect node")
    kept.set(ylabel="small objects found", xticks=range(len(clips)), ylim=(0, 1))
    kept.set_xticklabels(clips, fontsize=7)
    cost.legend(fontsize=6, ncols=2)


if __name__ == "__main__":
    run("shapes", measure, __doc__)
