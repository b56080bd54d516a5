"""Checks a gallery before it is used: is each identity recognised on its own pictures, and can all be told apart?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from operators.recognise.gallery import Gallery, GalleryRecogniser
from serving.errors import BadInput
from serving.scheduling.requests import Urgency

Progress = Callable[[str, float], None]
"""Takes what is looked at, and the share that is done, 0…1."""
MOST_PAIRS = 20
"""Pairs that are named, the most similar first."""
CROWD = 10
"""Identities from which their likeness tells how often strangers get a name."""
STRANGERS = 0.05
"""Share of strangers that may get a name."""


def _silent(step: str, share: float) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class GalleryReport:
    """The faults and doubts of a gallery."""

    faults: tuple[str, ...]
    """Pictures that are of no use, one line each."""
    doubts: tuple[str, ...]
    """May be right but is worth a look, one line each."""


async def checked(recogniser: GalleryRecogniser, model: str, told: Progress = _silent) -> GalleryReport:
    """Look at every picture of a gallery as at a frame; ModelError where a model cannot be opened."""
    faults, doubts = list[str](), list[str]()
    pictures = recogniser.pictures()
    for place, (_, path) in enumerate(pictures):
        told(_name(path), place / len(pictures) / 2)
        try:
            found = await recogniser.portrait(path)
        except BadInput as error:
            faults.append(str(error))
            continue
        if found.found > 1:
            doubts.append(f"{_name(path)} shows {found.found} objects: the largest is enrolled")
    if faults:
        return GalleryReport(tuple(faults), tuple(doubts))
    gallery = await recogniser.gallery(model)
    own = zip(gallery.names, gallery.paths, gallery.match(gallery.vectors), strict=True)
    faults += [_double(path, name, other) for name, path, (other, _) in own if other != name]
    for place, (name, path) in enumerate(pictures):
        told(_name(path), 0.5 + place / len(pictures) / 2)
        if (said := await _stranger(recogniser, model, name, path)) is not None:
            doubts.append(said)
    least = recogniser.least(model)
    return GalleryReport(tuple(faults), (*doubts, *strangers(gallery, least), *alike(gallery, least)))


def strangers(gallery: Gallery, least: float) -> list[str]:
    """A line where strangers would often get a name: each identity is a stranger to the others."""
    names = np.array(gallery.names)
    other = names[:, None] != names
    similarity = np.where(other, gallery.vectors @ gallery.vectors.T, -1.0).max(axis=1)
    nearest = np.array([similarity[names == name].max() for name in dict.fromkeys(gallery.names)])
    taken = int((nearest >= least).sum())
    if len(nearest) < CROWD or taken <= STRANGERS * len(nearest):
        return []
    better = math.ceil(100 * float(np.quantile(nearest, 1 - STRANGERS))) / 100
    return [
        f"{taken} of {len(nearest)} identities are as similar to another one as two pictures of one: at {least:.2f} "
        f"strangers would often get a name, with min_confidence: {better:.2f} about one in {round(1 / STRANGERS)}"
    ]


def alike(gallery: Gallery, least: float) -> list[str]:
    """Pictures of different identities that are as similar as pictures of one, the most similar pairs first."""
    names, similarity = np.array(gallery.names), gallery.vectors @ gallery.vectors.T
    pairs = np.argwhere(np.triu((similarity >= least) & (names[:, None] != names)))
    found = similarity[tuple(pairs.T)]
    told = [
        f"{_name(gallery.paths[i])} and {_name(gallery.paths[j])} look alike: similarity {similarity[i, j]:.2f}, "
        f"from {least:.2f} on they count as the same"
        for i, j in pairs[np.argsort(-found, kind="stable")[:MOST_PAIRS]].tolist()
    ]
    return told if len(pairs) <= MOST_PAIRS else [*told, f"{len(pairs) - MOST_PAIRS} more pairs look alike"]


def _double(path: Path, name: str, other: str) -> str:
    return f"gallery picture {path}: it is {other!r} as much as {name!r}, or more: remove it from one of the two"


async def _stranger(recogniser: GalleryRecogniser, model: str, name: str, path: Path) -> str | None:
    """A picture's wrong identity when it is seen a little farther away; None where it is right."""
    view = await recogniser.farther(path)
    if view is None:
        return f"{_name(path)} shows nothing to recognise when it is seen a little farther away"
    crop = recogniser.cut_out(model, view.picture, view.box, view.landmarks)
    (answer,) = await recogniser.name(model, [crop], Urgency(math.inf))
    if answer.label == name:
        return None
    what = f"{answer.label!r} (similarity {answer.confidence:.2f})"
    return f"{_name(path)} is {what} when it is seen a little farther away"


def _name(path: Path) -> str:
    """A picture as people name it: folder and file."""
    return f"{path.parent.name}/{path.name}"
