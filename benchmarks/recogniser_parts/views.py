"""The views on which recognisers are measured: real clips and photos labelled by eye, photos and drawn streets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from benchmarks.recogniser_parts.calibration import Answers, Scored
from benchmarks.recogniser_parts.looks import CLIPS, DATA, PHOTOS, UNCLEAR, Look, images, read
from datasets import vehicle6
from datasets.street import street_crops
from operators.frames.crops import cut
from operators.recognise.objects.pool import Look as PooledLook
from operators.recognise.objects.tracked_object import TrackedObject
from operators.wire.schema import Attribute, Model
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Image, softmax
from tools.shipped.collect import DRAWN_SIZE, renamed
from tools.shipped.recipes import VEHICLE_TYPES

DRAWN_SEED = 777_002
"""First seed of streets that no training, test or profile draws."""
DRAWN = 420
NAMES = dict(zip(CLIPS, ("street level", "car park", "persons, bicycles, cars"), strict=True)) | {PHOTOS: "any view"}
SAID_BY = Model(name="recogniser", version="1", tier="reference")


@dataclass(frozen=True)
class View:
    """Pictures of one view, and what they show."""

    name: str
    pictures: Sequence[Image]
    kinds: Sequence[str]
    looks: Sequence[Look] = ()
    """The looks that the pictures are, where they come from tracks."""

    def targets(self, card: ModelCard, logits: NDArray[np.float32]) -> NDArray[np.intp]:
        """The right class of each picture; where several may be right, the likeliest of them by the logits."""
        allowed = [[card.classes.index(_class_of(part, card)) for part in kind.split("|")] for kind in self.kinds]
        return np.array([max(each, key=row.__getitem__) for each, row in zip(allowed, logits, strict=True)], np.intp)

    def scored(self, card: ModelCard, logits: NDArray[np.float32]) -> Scored:
        """Logits beside the right classes."""
        return Scored(logits, self.targets(card, logits))


def labelled_views(margin: float) -> list[View]:
    """Those of clips and photos; what is not clear is left out. ``margin``: the recogniser's."""
    views = []
    for clip, group in groupby(read(), key=lambda look: look.clip):
        looks = [look for look in group if look.kind != UNCLEAR]
        frames = images(looks)
        pictures = [cut(frames[look.frame], look.box, margin).pixels.copy() for look in looks]
        tracks = () if clip == PHOTOS else looks
        views.append(View(NAMES[clip], pictures, [look.kind for look in looks], tracks))
    return views


def learnt_views() -> list[View]:
    """The photos' camera, of which other photos were learnt from, and drawn streets."""
    views = {
        "photos of the camera learnt from": vehicle6.load(DATA / "images" / "vehicle6", "test"),
        "drawn streets": list(zip(*street_crops(DRAWN_SEED, DRAWN, DRAWN_SIZE), strict=True)),
        "drawn at eye level": list(zip(*street_crops(DRAWN_SEED + 1, DRAWN, DRAWN_SIZE, "eye-level"), strict=True)),
    }
    return [
        View(name, [image for image, _ in named], [kind for _, kind in renamed(named)]) for name, named in views.items()
    ]


def per_look(view: View, card: ModelCard, logits: NDArray[np.float32]) -> Answers:
    """What is said of each picture."""
    rows = softmax(logits / card.temperature)
    return Answers(rows.argmax(axis=1), rows.max(axis=1).astype(np.float64), view.targets(card, logits), _other(card))


def pooled(view: View, card: ModelCard, logits: NDArray[np.float32], seconds: Mapping[str, float]) -> Answers:
    """What is said in the end of each track; ``seconds``: those of one frame, by clip."""
    rows, targets = softmax(logits / card.temperature), view.targets(card, logits)
    said, confidence, right = [], [], []
    tracks: dict[tuple[str, int], list[int]] = {}
    for place, look in enumerate(view.looks):
        tracks.setdefault((look.detector, look.track), []).append(place)
    for places in tracks.values():
        first = view.looks[places[0]]
        known = TrackedObject(first.box, first.frame * seconds[first.clip], len(card.classes))
        for place in places:
            look, at_s = view.looks[place], view.looks[place].frame * seconds[first.clip]
            if known.is_due(look.box, at_s):
                known.look(_look(card, rows[place], view.pictures[place]), at_s)
        assert known.belief is not None
        said.append(card.classes.index(known.belief.said.label))
        confidence.append(known.belief.posterior)
        right.append(targets[places[0]])
    return Answers(np.array(said), np.array(confidence), np.array(right), _other(card))


def _look(card: ModelCard, row: NDArray[np.float32], picture: Image) -> PooledLook:
    """Weighed by its pixels, up to those that the network takes."""
    label, share = card.classes[int(row.argmax())], float(row.max())
    said = Attribute(name="type", label=label, confidence=share, provenance="oracle", model=SAID_BY)
    pixels = picture.shape[0] * picture.shape[1] / (card.input.width * card.input.height)
    return PooledLook(said, share, min(pixels, 1.0))


def _other(card: ModelCard) -> int:
    assert card.other_label is not None
    return card.classes.index(card.other_label)


def _class_of(kind: str, card: ModelCard) -> str:
    if kind in card.classes:
        return kind
    return "vehicle" if kind in VEHICLE_TYPES and "vehicle" in card.classes else str(card.other_label)
