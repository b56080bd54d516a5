"""The pictures that variants are calibrated on and compared on: the user's, or drawn ones. Never the same for both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from operators.capture.sources.images import is_image, natural_order
from operators.capture.sources.open import drawing, open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.detect.agreement import same_objects
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array, Image
from serving.errors import BadInput
from serving.preprocess import batch
from serving.profiling.agreement import AGREE, RIGHT
from serving.profiling.profiler import ComparedItems, SmallerItems
from serving.variants.variant import reference, sized, sizes_of

SEED = 2_000_003
"""A seed of streets from which no shipped model learnt and on which no card's figures were measured."""
MOST, MOST_DRAWN, MOST_FRAMES = 800, 480, 120
"""The most pictures used: a user's photos and frames; drawn crops, which take time; frames for a detector."""
LEAST = 4
CROP_SIZE_PX = 96
FRAMES_PER_S = 1.0
VEHICLES = ("bike", "car", "juggernaut", "minibus", "pickup", "truck")
TYPES: Mapping[str, Sequence[str]] = {
    "bike": ("motorcycle", "bicycle"),
    "juggernaut": ("truck",),
    "minibus": ("van",),
}
"""The words of recognisers of vehicle types for those that have another word in drawings and in data sets."""

Named = tuple[Image, str | None]
"""A picture and the folder it lies in, or the label it was drawn for."""
Item = tuple[Array, int | None]
"""1 × …, prepared, and the index of its class where that is known."""


@dataclass(frozen=True, slots=True)
class PreparedPictures:
    """Prepared items (N × …): those to calibrate on, and those to compare on."""

    calibration: Array
    pictures: ComparedItems


def gather(card: ModelCard, data: Path | None) -> PreparedPictures:
    """Read or draw pictures, half to calibrate on and half to compare; raises BadInput.

    ``data``: a folder of pictures, or of one folder of pictures per class, or a video; None: the generated street.
    """
    what, named = _drawn(card) if data is None else _read(card, data)
    # Prepared one by one: many photos of some megapixels would not fit into memory.
    items = _labelled(card, [(batch(card.input, [image])[0], name) for image, name in named])
    if len(items) < LEAST:
        few = f"{len(items)} pictures are too few to calibrate and to compare"
        raise BadInput(f"{what}: {few}; {LEAST} are the least{_layout(data)}")
    order = np.random.default_rng(SEED).permutation(len(items))
    first, second = ([items[index] for index in half] for half in np.array_split(order, 2))
    calibration = np.concatenate([item for item, _ in first])
    return PreparedPictures(calibration, _pictures(card, what, second, _sha256(items)))


def _pictures(card: ModelCard, what: str, items: Sequence[Item], sha256: str) -> ComparedItems:
    agree = same_objects(card) if card.task == "detect" else AGREE[card.task]
    truth = [number for _, number in items if number is not None]
    right = partial(RIGHT[card.task], truth) if len(truth) == len(items) else None
    prepared = np.concatenate([item for item, _ in items])
    return ComparedItems(prepared, agree, right, what, sha256, _smaller(card, prepared))


def _smaller(card: ModelCard, items: Array) -> dict[int, SmallerItems]:
    """The same items for the smaller inputs that the model is measured with."""
    found = {}
    for width in sizes_of(card):
        other = sized(card, replace(reference(card.name), size=width))
        found[width] = SmallerItems(_shrunk(items, other), same_objects(card, other))
    return found


def _shrunk(items: Array, card: ModelCard) -> Array:
    """Prepared items for a smaller input; what was subtracted and scaled before does not matter to a mean of pixels."""
    size, channels_first = card.input, card.input.layout == "nchw"
    pictures = items.transpose(0, 2, 3, 1) if channels_first else items
    shrunk = np.stack([cv2.resize(each, (size.width, size.height), interpolation=cv2.INTER_AREA) for each in pictures])
    return np.ascontiguousarray(shrunk.transpose(0, 3, 1, 2) if channels_first else shrunk)


def _labelled(card: ModelCard, named: Sequence[tuple[Array, str | None]]) -> list[Item]:
    """Items with the index of their class; where some have one, those without are left out."""
    names = sorted({name for _, name in named if name is not None}) if card.task == "embed" else list(card.classes)
    items = [(item, _number(card, names, name)) for item, name in named]
    return [item for item in items if item[1] is not None] or items


def _number(card: ModelCard, names: Sequence[str], name: str | None) -> int | None:
    if card.task == "detect" or name is None:
        return None
    if name not in names and name in VEHICLES and "vehicle" in names:
        name = "vehicle"
    types = set(TYPES.get(name, ())).intersection(names)
    if name not in names and types:
        return names.index(types.pop()) if len(types) == 1 else None  # what may be either has no right answer
    if name not in names and card.other_label is not None:
        name = card.other_label
    return names.index(name) if name in names else None


def _drawn(card: ModelCard) -> tuple[str, Iterator[Named]]:
    if card.task == "detect":
        options = {"seed": str(SEED), "fps": str(FRAMES_PER_S), "duration_s": str(MOST_FRAMES / FRAMES_PER_S)}
        return f"drawn street, seed {SEED}", ((frame.image, None) for frame in drawing().open_street(options))
    images, labels = _crops()
    return f"drawn street crops, seed {SEED}", zip(images, labels, strict=True)


@cache
def _crops() -> tuple[Array, list[str]]:
    """Draw crops, once for all models of a command."""
    images, labels = drawing().street_crops(SEED, MOST_DRAWN, CROP_SIZE_PX)
    return images, labels


def _read(card: ModelCard, data: Path) -> tuple[str, Iterator[Named]]:
    most = MOST_FRAMES if card.task == "detect" else MOST
    if data.is_dir():
        return data.name, _photos(data, most)
    if not data.is_file():
        raise BadInput(f"--data {data}: no such folder or video")
    return data.name, _frames(data, most)


def _layout(data: Path | None) -> str:
    """The error for a folder in which too few pictures were found."""
    if data is None or not data.is_dir():
        return ""
    return f". Put pictures into {data} itself, or into one folder for each class there; deeper folders are not read"


def _frames(video: Path, most: int) -> Iterator[Named]:
    with closing(open_source(SourceUri(str(video)), Sampling("fps", FRAMES_PER_S), None)) as source:
        yield from ((picture.image, None) for picture in islice(source.pictures(), most))


def _photos(folder: Path, most: int) -> Iterator[Named]:
    """Some pictures of a folder, from all of its parts; those in folders of their own are named after them."""
    in_folders = [path for part in folder.iterdir() if part.is_dir() for path in part.iterdir() if is_image(path)]
    paths = sorted(
        in_folders or filter(is_image, folder.iterdir()), key=lambda path: (path.parent, natural_order(path))
    )
    for index in np.random.default_rng(SEED).permutation(len(paths))[:most]:
        path = paths[index]
        (picture,) = open_source(SourceUri(str(path)), Sampling(), None).pictures()
        yield picture.image, path.parent.name if in_folders else None


def _sha256(items: Sequence[Item]) -> str:
    digest = hashlib.sha256(repr([number for _, number in items]).encode())
    for item, _ in items:
        digest.update(np.ascontiguousarray(item).tobytes())
    return digest.hexdigest()
