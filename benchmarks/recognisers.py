"""How far the recognisers that ship can be trusted on cameras that they have not seen.

First crops of twelve street cameras and roadside photos: what networks say that were trained like ``vehicle-type`` but
for the cameras shown (``recogniser_parts/cameras.py``), beside the network that shipped before and the detector's own
word. Views ``camera …``, ``light …``, ``size …`` and ``type …`` are parts of ``all cameras``.

Then objects of three clips and of photos by many cameras, labelled by eye (``recogniser_parts/objects.csv``), beside
what the recognisers know: photos of the camera that they learnt from, and drawn streets. A row is a recogniser on a
view, per look or per track (looks pooled as a recognise node pools them), at one least confidence:

``right``        share of right answers, "other" among them, whatever their confidence
``ece``          expected calibration error of the confidences, at the card's temperature
``ece_unseen``   the same at the temperature that the other views of ``FITTED`` give, this one left out
``right_given``  share of right ones among the answers that name something and are certain enough
``given``        share of the objects that have a name for which such an answer is given
``given_at_90``  the largest share for which one may be given so that .9 of those given are right
``balanced``     share of right answers, the mean over car, van, truck, bus and two-wheelers
``agrees``       share of the looks of which the compact recogniser says, or leaves open, what ``vehicle-type`` does
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.recogniser_parts.calibration import Answers, Scored, calibration_error, temperature
from benchmarks.recogniser_parts.cameras import (
    SAID_BY_DETECTOR,
    LeftOut,
    Named,
    before,
    detector,
    left_out,
    parts,
    sample,
)
from benchmarks.recogniser_parts.looks import CLIPS, DATA, frame_s
from benchmarks.recogniser_parts.views import View, labelled_views, learnt_views, per_look, pooled
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Image, softmax
from serving.engines.network import run_in_steps
from serving.loading.opening import open_model
from serving.preprocess import batch
from tools.shipped.collect import Amounts, collect
from tools.shipped.recipes import RECIPES

FITTED = ("street level", "car park", "drawn streets")
"""Views that give the temperature. No picture of them was learnt from, but streets drawn like the last ones were."""
LEAST = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
STEP = 32
NAMES = (*(recipe.name for recipe in RECIPES), "street-kind")
LOOK, TRACK = "look", "track"
LEFT_OUT, BEFORE, DETECTOR = "vehicle-type, camera left out", "vehicle-type before", "yolox-nano"
DAY_AND_NIGHT = ("all cameras", "light day", "light night")

Logits = NDArray[np.float32]
Words = NDArray[np.intp]
"""The class that each look is given, -1 for ``unknown``."""


def measure(quick: bool) -> harness.Outcome:
    """All recognisers on all views; ``quick``: the smallest one on what is labelled by eye."""
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    names = NAMES[-1:] if quick else NAMES
    views = labelled_views(RECIPES[0].input.margin)
    views += [] if quick else learnt_views()
    seconds = {clip: frame_s(clip) for clip in CLIPS}
    unseen = None if quick else left_out(RECIPES[0], collect(DATA, Amounts(), seed=1))
    rows: list[harness.Row] = [] if unseen is None else list(_camera_rows(unseen))
    found: dict[str, float] = {} if unseen is None else {LEFT_OUT: round(unseen.temperature(), 3)}
    words: dict[str, Mapping[str, Words]] = {}
    for name in names:
        card, logits = _seen(name, views)
        words[name] = {view.name: _words(card, logits[view.name]) for view in views}
        scored = {view.name: view.scored(card, logits[view.name]) for view in views}
        found[card.name] = round(temperature(_fitted(scored)), 3)
        for view in views:
            mine = _rows(card, view, logits[view.name], temperature(_fitted(scored, view.name)), seconds)
            rows += (row | {"agrees": _agrees(row, card, words)} for row in mine)
    return harness.Outcome(rows, headline(rows, found), partial(_draw, rows))


def headline(rows: Sequence[harness.Row], temperatures: Mapping[str, float]) -> Mapping[str, Any]:
    """By recogniser: the fitted temperature, and what its card's least confidence gives on views not learnt from.

    Of the cameras left out: the mean balanced accuracy, and the least share of rightly given names by day and night.
    """
    by_camera = [row for row in rows if row["shipped"] and row["model"] == LEFT_OUT and row["view"] in DAY_AND_NIGHT]
    cameras = {f"{row['view']}": {key: row[key] for key in ("balanced", "given_at_90", "ece")} for row in by_camera}
    return cameras | {
        name: {
            "temperature": heat,
            **{
                row["view"]: {"right_given": row["right_given"], "given": row["given"]}
                for row in rows
                if row["model"] == name and row["shipped"] and row["view"] in FITTED
            },
        }
        for name, heat in temperatures.items()
    }


def _camera_rows(unseen: LeftOut) -> Iterator[harness.Row]:
    """What each of those who may be asked says of the crops, part by part."""
    least = RECIPES[0].min_confidence
    now = unseen.named()
    asked = sample(now.crops)
    told = {LEFT_OUT: now, BEFORE: before(asked)}
    of_detector = detector(asked)
    for model, named in [*told.items(), (DETECTOR, of_detector)]:
        if named is None:
            continue
        for view, part in parts(named):
            for confidence in (0.0, least) if least else (0.0,):
                yield _camera_row(model, view, part, confidence, shipped=confidence == least)
    chosen = {id(crop) for crop in asked}
    yield from _both_rows(now.of(lambda crop: id(crop) in chosen), of_detector)


def _camera_row(model: str, view: str, part: Named, least: float, shipped: bool) -> harness.Row:
    return {
        "model": model,
        "view": view,
        "unit": LOOK,
        "shipped": shipped,
        "least_confidence": least,
        "n": len(part.crops),
        "named": sum(map(bool, part.truth)),
        "right": round(float(part.right.mean()), 3),
        "ece": round(part.error(), 3),
        "right_given": round(part.precision(least), 3),
        "given": round(part.coverage(least), 3),
        "answers": int(part.named(least).sum()),
        "ece_unseen": round(part.error(), 3),
        "balanced": round(part.balanced(), 3),
        "given_at_90": round(part.coverage_at(0.9), 3),
        "agrees": "",
    }


def _both_rows(one: Named, other: Named) -> Iterator[harness.Row]:
    """Both where both have a word, of types for which the detector has one."""
    both = one.named(RECIPES[0].min_confidence) & other.named(0.0)
    both &= np.array([each in SAID_BY_DETECTOR for each in one.truth])
    for model, named in ((LEFT_OUT, one), (DETECTOR, other)):
        part = named.at(both)
        yield _camera_row(model, f"where {DETECTOR} has a word too", part, 0.0, shipped=True)


def _seen(name: str, views: Sequence[View]) -> tuple[ModelCard, Mapping[str, Logits]]:
    entry = Catalogue([SHIPPED]).find(name)
    network = open_model(entry, threads=1)

    def logits(images: Sequence[Image]) -> Logits:
        found: Logits = run_in_steps(network.run, batch(entry.card.input, images)[0], STEP)[0]
        return found

    return entry.card, {view.name: logits(view.pictures) for view in views}


def _words(card: ModelCard, logits: Logits) -> Words:
    shares = softmax(logits / np.float32(card.temperature))
    said: Words = shares.argmax(axis=1)
    unknown = (shares.max(axis=1) < card.min_confidence) | (said == card.classes.index("other"))
    return np.where(unknown, -1, said)


def _agrees(row: harness.Row, card: ModelCard, words: Mapping[str, Mapping[str, Words]]) -> float | str:
    """Only where both were asked, at what the cards ask for."""
    reference = words.get(RECIPES[0].name)
    if card.name != RECIPES[1].name or reference is None:
        return ""
    if row["unit"] != LOOK or row["least_confidence"] != card.min_confidence:
        return ""
    return round(float((words[card.name][row["view"]] == reference[row["view"]]).mean()), 3)


def _fitted(scored: Mapping[str, Scored], without: str = "") -> list[Scored]:
    return [scored[name] for name in FITTED if name in scored and name != without]


def _rows(
    card: ModelCard, view: View, logits: Logits, unseen: float, seconds: Mapping[str, float]
) -> list[dict[str, Any]]:
    other = replace_temperature(card, unseen)
    units = {LOOK: per_look} | ({TRACK: partial(pooled, seconds=seconds)} if view.looks else {})
    rows = []
    for unit, answers in units.items():
        said = answers(view, card, logits)
        elsewhere = answers(view, other, logits)
        for least in sorted({*LEAST, card.min_confidence}):
            row = _row(said, least)
            row |= {"balanced": "", "given_at_90": ""}
            row["ece_unseen"] = round(calibration_error(elsewhere.confidence, elsewhere.right), 3)
            shipped = least == card.min_confidence and (unit == TRACK or not view.looks)
            rows.append({"model": card.name, "view": view.name, "unit": unit, "shipped": shipped, **row})
    return rows


def replace_temperature(card: ModelCard, heat: float) -> ModelCard:
    """The card with another temperature."""
    return card.model_copy(update={"temperature": heat})


def _row(said: Answers, least: float) -> dict[str, Any]:
    return {
        "least_confidence": least,
        "n": len(said.said),
        "named": int((said.targets != said.other).sum()),
        "right": round(float(said.right.mean()), 3),
        "ece": round(calibration_error(said.confidence, said.right), 3),
        "right_given": round(said.precision(least), 3),
        "given": round(said.coverage(least), 3),
        "answers": int(said.given(least).sum()),
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    names = [name for name in dict.fromkeys(row["model"] for row in rows) if name not in (LEFT_OUT, BEFORE, DETECTOR)]
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        mine = [row for row in rows if row["model"] == name]
        for view in dict.fromkeys(row["view"] for row in mine):
            best = [row for row in mine if row["view"] == view]
            unit = TRACK if any(row["unit"] == TRACK for row in best) else LOOK
            line = [row for row in best if row["unit"] == unit and row["answers"] >= 3]
            marks = ax.plot([row["given"] for row in line], [row["right_given"] for row in line], ".-", label=view)
            shipped = [row for row in line if row["shipped"]]
            ax.plot([r["given"] for r in shipped], [r["right_given"] for r in shipped], "o", color=marks[0].get_color())
        ax.axhline(0.85, color="grey", linewidth=0.8)
        ax.set_title(name, fontsize=9)
        ax.set_xlabel("objects with an answer", fontsize=8)
        ax.set_xlim(-0.03, 1.03)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("right answers among these", fontsize=8)
    axes[0].set_ylim(-0.03, 1.03)
    axes[0].legend(frameon=False, fontsize=6)


if __name__ == "__main__":
    harness.run("recognisers", measure, __doc__ or "")
