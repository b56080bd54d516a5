"""Galleries of real faces: crops of a detector's boxes against faces laid upright by their landmarks.

The faces are those of the sample photos (``$SLUICE_DATA/images/coco128_val``) that are at least 40 pixels high and that
UltraFace and CenterFace both find. One photo of each is enrolled, with hair and background (uncut) or without (cut),
and everybody is looked for on the picture as other cameras would show it, in the product's own way. The embedder is
MobileFaceNet, which was trained on aligned faces. All views of a person come from one picture: the figures compare
ways, and do not say how well people are recognised on other days.

``right``, ``wrong_name`` and ``unknown`` are shares of the faces; one that the detector misses is unknown.
``stranger_named`` is the share of faces that get a name when their own photo is not enrolled. CenterFace must have been
fetched: ``sluice models pull centerface``.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.galleries_parts.faces import Face, View, faces, nearest, read, views
from operators.audits.roles import Roles
from operators.detect.onnx import OnnxDetector
from operators.frames.frame import Region
from operators.inference import Inference
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.portraits import DetectedObject, FromAfar, Portrait
from operators.testing import call
from pipelines.environment import catalogue
from serving.backend import Backend
from serving.catalogue.cards import ModelCard, write_card
from serving.catalogue.lookup import file_sha256
from serving.catalogue.public import public_model
from serving.common.tensors import Image
from serving.errors import BadInput
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency

DATA = Path(os.environ.get("SLUICE_DATA", "../shared/data"))
DETECTORS = ("ultraface", "centerface")
WAYS = (("ultraface", "cropped"), ("centerface", "cropped"), ("centerface", "aligned"))
ENROLLED = {"uncut": 0.8, "cut": 0.0}
"""Share of a face's size that photos show around it on every side."""
LEAST = (0.4, 0.5, 0.6)
"""Least similarities from which an answer is a name; .4 is the default of cards."""
QUICK = 12
"""Pictures of a quick run."""
EMBEDDER = {"width": 112, "height": 112, "scale": 1 / 127.5, "mean": [1.0, 1.0, 1.0]}


@dataclass(frozen=True)
class Known:
    """What a recogniser makes of one view of a face."""

    own: float
    """Similarity to the face's own photo, −1…1; −1 where there is none."""
    others: float
    """Similarity to the most similar photo of anybody else."""


MISSED = Known(-1.0, -1.0)
"""The detector did not find the face."""


class Remembered:
    """A finder that looks at each picture once, however often it is enrolled."""

    def __init__(self, finder: DetectedObject) -> None:
        self._finder, self._found = finder, dict[Path, Portrait]()

    async def find(self, path: Path, picture: Image) -> Portrait:
        """See ``PortraitFinder``."""
        if path not in self._found:
            self._found[path] = await self._finder.find(path, picture)
        return self._found[path]

    def farther(self, portrait: Portrait, picture: Image) -> FromAfar | None:
        """See ``PortraitFinder``."""
        return self._finder.farther(portrait, picture)


def measure(quick: bool) -> harness.Outcome:
    """All ways on all views, for photos cut and uncut."""
    with TemporaryDirectory() as folder:
        rows = asyncio.run(_measured(Path(folder), QUICK if quick else None))
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


async def _measured(folder: Path, limit: int | None) -> list[harness.Row]:
    engine = Backend(catalogue([_models(folder / "models")]), bounds=NetworkBounds(threads=1))
    await engine.start()
    try:
        detectors = {name: OnnxDetector(engine, "detect", [name]) for name in DETECTORS}
        pictures = sorted((DATA / "images" / "coco128_val").glob("*.jpg"))[:limit]
        people = await faces(pictures, detectors)
        return [
            row
            for detector in DETECTORS
            for row in await _rows(engine, detector, detectors[detector], people, folder / detector)
        ]
    finally:
        await engine.stop()


def _models(folder: Path) -> Path:
    """The embedder, once for crops and once for aligned faces, and UltraFace, all from the sample weights."""
    public = public_model("ultraface")
    _model(folder / "ultraface", DATA / "weights" / "ultraface" / public.file, public.card)
    for kind, align in (("cropped", None), ("aligned", "arcface")):
        card = {
            "version": "1",
            "task": "embed",
            "licence": "Apache-2.0",
            "source": "-",
            "input": {**EMBEDDER, "align": align},
        }
        _model(folder / kind, DATA / "weights" / "mobilefacenet" / "MobileFaceNet.onnx", card)
    return folder


def _model(folder: Path, weights: Path, card: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True)
    for file in weights.parent.glob(f"{weights.name}*"):
        shutil.copy(file, folder)
    told = {**card, "name": folder.name, "file": weights.name, "sha256": file_sha256(weights)}
    write_card(folder, ModelCard.model_validate(told))


async def _rows(
    engine: Inference, name: str, detector: OnnxDetector, people: Sequence[Face], folder: Path
) -> list[harness.Row]:
    """One detector: its boxes in all views, looked at as each way of it does."""
    seen = [(face, kind, view, await _found(name, detector, view)) for face in people for kind, view in views(face)]
    rows = list[harness.Row]()
    for enrolled, surroundings in ENROLLED.items():
        finder = Remembered(DetectedObject(detector, name, lambda region: True))
        gallery = await _gallery(folder / enrolled, people, surroundings, finder)
        for way in [crop for found_by, crop in WAYS if found_by == name]:
            roles = Roles.of([way], engine.card)
            recogniser = GalleryRecogniser(engine, roles, "who", gallery, min_similarity=0.0, finder=finder)
            answers: dict[str, list[Known]] = {}
            for face, kind, view, region in seen:
                answers.setdefault(kind, []).append(await _known(recogniser, way, face, view, region))
            rows += [row for kind, known in answers.items() for row in rows_of((name, way, enrolled, kind), known)]
    return rows


async def _found(name: str, detector: OnnxDetector, view: View) -> Region | None:
    return nearest(view.box, await detector.process(view.frame, [], call(name)))


async def _gallery(folder: Path, people: Sequence[Face], surroundings: float, finder: Remembered) -> Path:
    """The photos on which the detector finds somebody, as JPEG files; the others would be refused."""
    for face in people:
        path = folder / face.name / "1.jpg"
        path.parent.mkdir(parents=True)
        cv2.imwrite(str(path), face.photo(surroundings), [cv2.IMWRITE_JPEG_QUALITY, 95])
        try:
            await finder.find(path, read(path))
        except BadInput:
            shutil.rmtree(path.parent)
    return folder


async def _known(recogniser: GalleryRecogniser, model: str, face: Face, view: View, region: Region | None) -> Known:
    if region is None:
        return MISSED
    gallery = await recogniser.gallery(model)
    crops = recogniser.crops(model, view.frame, [region])
    similar = gallery.vectors @ (await recogniser.embed(model, crops, Urgency(math.inf)))[0]
    own = np.array([name == face.name for name in gallery.names])
    return Known(float(similar[own].max(initial=-1.0)), float(similar[~own].max(initial=-1.0)))


def rows_of(case: tuple[str, str, str, str], known: Sequence[Known]) -> Iterator[harness.Row]:
    """A row for each least similarity; ``case``: detector, crop, enrolment, view."""
    own, others = np.array([each.own for each in known]), np.array([each.others for each in known])
    for least in LEAST:
        right, wrong = (own > others) & (own >= least), (others >= own) & (others >= least)
        yield {
            **dict(zip(("detector", "crop", "enrolled", "view"), case, strict=True)),
            "min_similarity": least,
            "faces": len(known),
            "missed_by_detector": int((others == MISSED.others).sum()),
            "right": _share(right),
            "wrong_name": _share(wrong),
            "unknown": _share(~right & ~wrong),
            "stranger_named": _share(others >= least),
            "own_similarity_p50": round(float(np.median(own)), 3),
            "others_similarity_p50": round(float(np.median(others)), 3),
        }


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Means over views and enrolments at the default least similarity."""
    figures = ("right", "wrong_name", "stranger_named")
    return {
        f"{detector}_{crop}": {figure: round(mean_of(rows, detector, crop, figure), 3) for figure in figures}
        for detector, crop in WAYS
    }


def mean_of(rows: Sequence[harness.Row], detector: str, crop: str, figure: str, least: float = 0.4) -> float:
    """The mean of a figure over all rows of a way."""
    case = {"detector": detector, "crop": crop, "min_similarity": least}.items()
    return float(np.mean([row[figure] for row in rows if case <= row.items()]))


def _share(which: NDArray[np.bool_]) -> float:
    return round(float(which.mean()), 3)


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    kinds = list(dict.fromkeys(row["view"] for row in rows))
    for axes, wanted in zip(figure.subplots(1, 2, sharey=True), ("right", "stranger_named"), strict=True):
        for number, (detector, crop) in enumerate(WAYS):
            case = {"detector": detector, "crop": crop, "min_similarity": 0.4}.items()
            heights = [
                np.mean([row[wanted] for row in rows if case <= row.items() and row["view"] == kind]) for kind in kinds
            ]
            axes.bar(np.arange(len(kinds)) + 0.27 * (number - 1), heights, 0.25, label=f"{detector}, {crop}")
        axes.set_title(f"{wanted.replace('_', ' ')}, share of the faces, similarity from .4", fontsize=8)
        axes.set_xticks(range(len(kinds)), kinds, fontsize=6)
        axes.tick_params(axis="y", labelsize=6)
        axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("galleries", measure, __doc__ or "")
