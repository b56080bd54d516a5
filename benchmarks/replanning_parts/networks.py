"""Networks on one thread, with the processor seconds that a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from operators.detect.decoding import decode
from operators.detect.detections import Detections, one_per_place
from operators.frames.crops import cut
from operators.frames.frame import Box
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, read_weights
from serving.common.tensors import Array, Image
from serving.engines.engine import Engine
from serving.engines.network import run_in_steps
from serving.loading.opening import engine_for
from serving.preprocess import batch
from serving.variants.artefacts import build, resolve
from serving.variants.variant import parse

VEHICLES = frozenset({"car", "bus", "truck"})
MOST_AT_ONCE = 8

T = TypeVar("T")


class Thing(NamedTuple):
    """One object: where, relative to the frame, and what."""

    box: Box
    label: str


@dataclass(frozen=True)
class Network:
    """An opened network."""

    card: ModelCard
    engine: Engine

    @classmethod
    def opened(cls, model: str, known: Catalogue, cache: Path) -> Network:
        """Build the variant where it must be, and open it."""
        variant = parse(model)
        build(known.find(variant.model), variant, cache)
        found = resolve(model, known, cache)
        engine = engine_for(variant, 1)
        engine.load([read_weights(found.path, found.card).SerializeToString()])
        return cls(found.card, engine)

    def run(self, items: Array) -> list[Array]:
        """The outputs for items, one by one where the network takes no more."""
        at_once = 1 if self.card.task == "detect" else MOST_AT_ONCE
        return run_in_steps(lambda each: self.engine.run(0, each), items, at_once)


def detect(network: Network, image: Image) -> list[Thing]:
    """The vehicles in an image."""
    items, (placement,) = batch(network.card.input, [image])
    found = _vehicles(decode(network.card, network.run(items))[0], network.card)
    shares = placement.to_image(found.boxes)
    labels = (network.card.classes[index] for index in found.classes)
    return [Thing(Box(*map(float, box)), label) for box, label in zip(shares, labels, strict=True)]


def recognise(network: Network, image: Image, things: Sequence[Thing]) -> list[str]:
    """What each thing is called."""
    if not things:
        return []
    crops = [cut(image, thing.box, network.card.input.margin).pixels for thing in things]
    scores = network.run(batch(network.card.input, crops)[0])[0]
    return [network.card.classes[index] for index in scores.reshape(len(things), -1).argmax(axis=1)]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the processor seconds that it takes on this thread."""
    began_s = time.thread_time()
    found = work()
    return found, time.thread_time() - began_s


def _vehicles(found: Detections, card: ModelCard) -> Detections:
    wanted = np.array([name in VEHICLES for name in card.classes])
    return one_per_place(found[wanted[found.classes]], card.classes)
