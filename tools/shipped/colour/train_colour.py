"""Trains, exports and measures ``vehicle-colour``: ``python -m tools.shipped.colour.train_colour``.

Takes about three minutes of one core. Of the crops of street cameras a person has read three lots, in CSVs beside this
file: ``learnt``, from six cameras, ``tuned``, from which certainty is learnt, and ``judged``, which was read before the
network was there, and from which nothing is learnt.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from datasets import camera_crops
from learning.calibration import least, temperature
from serving.catalogue.cards import Accuracy, ImageInput, ModelCard, write_card
from serving.catalogue.lookup import SHIPPED, file_sha256
from serving.common.tensors import Image, softmax, words
from tools.architectures.export import OUTPUT, export
from tools.architectures.registry import multiply_adds
from tools.shipped.colour.paints import COLOURS
from tools.shipped.colour.pictures import Real, samples, seen
from tools.shipped.measure import predictor
from tools.shipped.networks import tiny_resnet
from tools.shipped.samples import corners
from tools.shipped.training import Schedule, fit

NAME = "vehicle-colour"
FILE = "model.onnx"
HERE = Path(__file__).parent
UNSURE = "unsure"
TWO_WHEELERS = ("bicycle", "bike", "motorcycle", "scooter")
DRAWN, GROUNDS = 6_000, 1500
SIDE = 32
SCHEDULE = Schedule(steps=2500, rate=0.1, weight_decay=1e-4, smoothing=0.02, report_every=200)
RIGHT = 0.9
"""Share of the names that shall be right."""
SEED = 1


@dataclass(frozen=True, slots=True)
class ReadByEye:
    """Crops with the colours that a person read; those of which no colour could be told are ``unsure``."""

    images: Sequence[Image]
    colours: Sequence[str]

    def sure(self) -> ReadByEye:
        """Those with a colour."""
        pairs = [pair for pair in zip(self.images, self.colours, strict=True) if pair[1] != UNSURE]
        return ReadByEye([image for image, _ in pairs], [colour for _, colour in pairs])


def labels(lot: str) -> Mapping[str, str]:
    """The colours of a lot by ``source/name``."""
    with (HERE / f"{lot}.csv").open(newline="", encoding="utf-8") as file:
        return {row["crop"]: row["label"] for row in csv.DictReader(file)}


def read_by_eye(crops: Sequence[camera_crops.Crop], lot: str) -> ReadByEye:
    """The crops of a lot, in its order."""
    images = {f"{crop.source}/{crop.name}": crop.image for crop in crops}
    known = labels(lot)
    return ReadByEye([images[name] for name in known], list(known.values()))


def main() -> None:
    """Train it, or measure what is there."""
    parser = argparse.ArgumentParser(prog="python -m tools.shipped.colour.train_colour", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="crops/")
    parser.add_argument("--models", type=Path, default=SHIPPED, help="where the result goes")
    parser.add_argument("--card", action="store_true", help="train nothing: measure the weights in --models again")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    crops = camera_crops.read(arguments.data / "crops")
    folder = arguments.models / NAME
    if not arguments.card:
        folder.mkdir(parents=True, exist_ok=True)
        train(crops, folder)
    describe(crops, folder, arguments.threads)


def train(crops: Sequence[camera_crops.Crop], folder: Path) -> None:
    """Write the weights; nothing of ``tuned`` and ``judged`` is learnt from."""
    torch.manual_seed(SEED)
    network = tiny_resnet(len(COLOURS))
    rng = np.random.default_rng(SEED)
    fit(network, _input(), samples(DRAWN, _real(crops, rng), rng), SCHEDULE, rng, seen)
    export(network, folder / FILE, SIDE, half=True)


def describe(crops: Sequence[camera_crops.Crop], folder: Path, threads: int) -> None:
    """Write the card: certainty from ``tuned``, figures from ``judged``."""
    write_card(folder, _card(folder, 1.0, 0.0, ()))
    ask = predictor(folder.parent, NAME, threads)
    tuned = read_by_eye(crops, "tuned").sure()
    truth = np.array([COLOURS.index(colour) for colour in tuned.colours])
    scores = np.log(ask(tuned.images) + 1e-9)
    heat = temperature(scores, truth)
    confidence = least(softmax(scores / heat), truth, RIGHT)
    judged = read_by_eye(crops, "judged")
    shares = softmax(np.log(ask(judged.images) + 1e-9) / heat)
    write_card(folder, _card(folder, heat, confidence, _figures(judged.colours, shares, confidence)))


def _figures(colours: Sequence[str], shares: NDArray[np.float32], confidence: float) -> tuple[Accuracy, ...]:
    """The likeliest colour right; right of named, named, and right of named by colour."""
    known = np.array([-1 if colour == UNSURE else COLOURS.index(colour) for colour in colours])
    said = words(shares, confidence)
    sure, named = known >= 0, said >= 0
    rows = [("top-1", (known == shares.argmax(axis=1))[sure])]
    rows += [("right of named", (known == said)[sure & named]), ("named", named[sure])]
    rows += [(f"right of named {name}", (known == said)[named & (known == at)]) for at, name in enumerate(COLOURS)]
    dataset, split = "crops of 12 street cameras, read by eye", "judged.csv: read before, never learnt"
    return tuple(
        Accuracy(dataset=dataset, split=split, metric=metric, value=round(float(hits.mean()), 4), n=len(hits))
        for metric, hits in rows
        if len(hits)
    )


def _real(crops: Sequence[camera_crops.Crop], rng: np.random.Generator) -> Real:
    kept = labels("tuned").keys() | labels("judged").keys()
    free = [crop for crop in crops if f"{crop.source}/{crop.name}" not in kept]
    learnt = read_by_eye(crops, "learnt")
    vehicles = [(crop.image, crop.label) for crop in free if crop.label not in TWO_WHEELERS]
    riders = [crop.image for crop in free if crop.label in TWO_WHEELERS][::3]
    grounds = [image for image, _ in corners(vehicles, GROUNDS, rng) if min(image.shape[:2]) > 4]
    return Real(list(zip(learnt.images, learnt.colours, strict=True)), grounds, riders)


def _input() -> ImageInput:
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return ImageInput(width=SIDE, height=SIDE, scale=1 / 255, mean=mean, std=std, margin=0.04)


def _card(folder: Path, heat: float, confidence: float, figures: tuple[Accuracy, ...]) -> ModelCard:
    network = tiny_resnet(len(COLOURS))
    parameters = sum(parameter.numel() for parameter in network.parameters())
    size = f"{parameters / 1e6:.2f} M parameters, {multiply_adds(network, SIDE) / 1e6:.0f} M multiply-adds"
    sources = "; ".join(camera_crops.CREDITS.values())
    return ModelCard(
        name=NAME,
        version="1",
        tier="reference",
        task="classify",
        file=FILE,
        sha256=file_sha256(folder / FILE),
        licence="Apache-2.0",
        source=f"tools/shipped/colour/train_colour.py, with pictures of {sources}",
        description=f"Colour of a vehicle; grey is also silver, yellow orange, brown beige and gold ({size})",
        input=_input(),
        outputs=(OUTPUT,),
        classes=COLOURS,
        scores="logits",
        temperature=heat,
        min_confidence=confidence,
        views="street cameras from above and from the roadside, by day and in street light that shows colours",
        accuracy=figures,
    )


if __name__ == "__main__":
    main()
