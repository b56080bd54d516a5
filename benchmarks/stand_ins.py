"""What stand-ins save: ``sluice run`` with ``variants: off`` and without a word of them, at the same time.

A contest was held before, as on a machine that has seen the query for a while: on labelled crops of street cameras,
and on frames of the clip. Clips are played over and over. Long runs prove the stand-in and use it, short ones begin
nothing. ``same`` is the share of the objects with the same answers in both modes, ``by_variant`` the share that the
stand-in has answered.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.run_parts.side_by_side import Scene, compared, draw, headline
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import VIDEOS
from benchmarks.tracks_video_parts.looped import looped
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from pipelines.measure.stand_ins.contest_job import ContestJob, answered
from pipelines.measure.stand_ins.roles import candidates
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.preprocess import batch
from serving.variants.contest import store

CROPS = VIDEOS.parent / "crops" / "vietnam_cctv.zip"
MODES = ("off", "auto")
LONG, SHORT, ROUNDS = 1500, 150, 2
LONGEST_S = 400.0
ITEMS = {"vehicle-type": 128, "yolox-nano": 28}
DETECTOR_SIZE = (256, 416)
RECOGNISE: Sequence[Mapping[str, Any]] = [
    {"name": "detect", "task": "detect", "model": "motion"},
    {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type"},
]
DETECT: Sequence[Mapping[str, Any]] = [
    {"name": "detect", "task": "detect", "model": "yolox-nano", "labels": ["person", "bicycle", "car"]},
    {"name": "track", "task": "track", "input": "detect"},
]
SCENES: Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
    "car park, type of every look": ("car-detection.mp4", RECOGNISE),
    "crossing, yolox-nano on every frame": ("person-bicycle-car-detection.mp4", DETECT),
}


def query(nodes: Sequence[Mapping[str, Any]], video: Path, mode: str) -> Mapping[str, Any]:
    stream = {"id": "cam", "uri": str(video)}
    return {
        "version": 1,
        "name": "stand-ins",
        "slo_ms": 2000,
        "variants": False if mode == "off" else "auto",
        "streams": [stream],
        "nodes": list(nodes),
    }


def shown(known: Catalogue, model: str) -> Iterator[NDArray[np.float16]]:
    """What the network is shown, prepared."""
    card = known.find(model).card.input
    if model == "vehicle-type":
        with zipfile.ZipFile(CROPS) as crops:
            names = [name for name in crops.namelist() if name.endswith((".jpg", ".png"))]
            for place in np.random.default_rng(0).permutation(len(names)):
                picture = cv2.imdecode(np.frombuffer(crops.read(names[place]), np.uint8), cv2.IMREAD_COLOR)
                assert picture is not None
                yield batch(card, [np.asarray(picture, np.uint8)])[0][0].astype(np.float16)
        return
    fitted = card.model_copy(update={"height": DETECTOR_SIZE[0], "width": DETECTOR_SIZE[1]})
    clip = VIDEOS / SCENES["crossing, yolox-nano on every frame"][0]
    with closing(open_source(SourceUri(str(clip)), Sampling("fps", 1.0), None)) as source:
        for picture in source.pictures():
            yield batch(fitted, [picture.image])[0][0].astype(np.float16)


def contests(known: Catalogue, cache: Path) -> dict[str, Any]:
    """Hold and keep those of both networks; what was found."""
    found = {}
    for model, items in ITEMS.items():
        entry = known.find(model)
        variants = [each.id for each in candidates(entry)]
        if not variants:
            continue
        job = ContestJob.of(known, cache, variants, list(islice(shown(known, model), items)))
        contest = answered(msgspec.json.encode(job)).contest
        assert contest is not None
        store(contest, entry, cache)
        found[model] = {each.variant: (each.processor_s, each.agreement) for each in contest.contenders}
        found[model][model] = (contest.processor_s, 1.0)
    return found


def answers(file: Path) -> tuple[dict[tuple[int, int], tuple[str, ...]], float]:
    """By frame and place the answers of each object, and the share that variants gave."""
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    by_variant = looks = 0
    for line in map(json.loads, file.open()):
        variants = "@" in (line["plan"]["nodes"].get("detect", {}).get("variant") or "")
        for place, each in enumerate(line["objects"]):
            said = each["attributes"]
            found[line["seq"], place] = (each["detection"]["label"], *(one["label"] for one in said))
            by_variant += any(one["provenance"] == "variant" for one in said) or variants
            looks += 1
    return found, by_variant / max(1, looks)


def measure(quick: bool) -> harness.Outcome:
    """Both scenes, long and short; ``quick``: the short ones once."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sluice-stand-ins-") as scratch:
        folder, cache = Path(scratch), Path(scratch) / "cache"
        os.environ["SLUICE_CACHE"] = str(cache)
        models("yolox-nano", folder / "models")
        costs = contests(Catalogue([folder / "models", SHIPPED]), cache)
        for name, (clip, nodes) in SCENES.items():
            video = looped(folder, (VIDEOS / clip).resolve(), LONGEST_S)
            for frames in (SHORT,) if quick else (SHORT, LONG):
                scene = Scene(name, video, frames, MODES)
                found = compared([scene], partial(query, nodes), folder, 1 if quick else ROUNDS)
                off, auto = (answers(folder / f"{mode}.jsonl") for mode in MODES)
                same = np.mean([auto[0].get(key) == said for key, said in off[0].items()]) if off[0] else 1.0
                rows += [{**row, "same": round(float(same), 4), "by_variant": round(auto[1], 4)} for row in found]
                print(json.dumps(headline(found) | {"same": same, "by_variant": auto[1]}), flush=True)
    return harness.Outcome(rows, headline(rows) | costs, partial(draw, rows, goal=1.0))


if __name__ == "__main__":
    harness.run("stand_ins", measure, __doc__ or "")
