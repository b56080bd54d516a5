"""Recognisers that say the words of ``vehicle-type`` and take longer: ``python -m benchmarks.recogniser_parts.dear``.

A new last layer on EfficientNet-Lite2, which stays as it is, for inputs of two sizes. Both are kept under ``.cache``;
making them takes about six minutes of one core. The command makes what is missing and prints what each card says of
cameras left out, and how long a look takes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import torch
from torch import nn

from benchmarks.recogniser_parts import lite2
from benchmarks.recogniser_parts.cameras import Named, parts
from benchmarks.recogniser_parts.frozen import (
    EVERY,
    LEVELS,
    RIGHT,
    last_layer,
    least_confidence,
    looked,
    seeing,
    unseen,
)
from benchmarks.recogniser_parts.looks import DATA
from serving.catalogue.cards import Accuracy, ModelCard, write_card
from serving.catalogue.lookup import Catalogue, file_sha256
from serving.loading.opening import open_model
from tools.architectures.export import OUTPUT, export
from tools.architectures.registry import multiply_adds
from tools.shipped.collect import CORRECTIONS, FOLDS, SHARES, TYPES, Amounts, Sources, collect
from tools.shipped.recipes import RECIPES, VIEWS, Recipe
from tools.shipped.train_recognisers import LEARNT_FROM, WEIGHTS
from tools.shipped.training import Schedule

CACHE = Path(__file__).parents[2] / ".cache" / "dear"
LEARNT = replace(
    RECIPES[0],
    version="1",
    description=f"Type of a vehicle on a street seen by a camera; a last layer on {lite2.NAME}",
    looks=6_000,
    schedule=Schedule(steps=1000, rate=1e-4, batch=128, weight_decay=0.3, report_every=1000),
)
DEAR = replace(LEARNT, name="vehicle-type-dear", side=384)
MIDDLE = replace(LEARNT, name="vehicle-type-middle", side=208)
SEED = 1
SPLIT = "each camera left out once"
TIMED = 100
"""Looks of which the median is told."""


def main() -> None:
    """Make what is missing, and tell what there is."""
    models = ready(DEAR, MIDDLE)
    for recipe in (DEAR, MIDDLE):
        card = Catalogue([models]).find(recipe.name).card
        print(f"{card.name}: {card.description}; {look_ms(models, card.name):.1f} ms a look, temperature", end=" ")
        print(f"{card.temperature}, min_confidence {card.min_confidence}")
        for view, figures in groupby(card.accuracy, key=lambda figure: figure.dataset):
            print(f"  {view}: " + ", ".join(f"{figure.metric} {figure.value:.3f}" for figure in figures))
    print(models)


def ready(*wanted: Recipe) -> Path:
    """The directory of models with these recognisers, made first where they are missing."""
    models = CACHE / _follows_from()
    if missing := [recipe for recipe in wanted if not (models / recipe.name).exists()]:
        models.mkdir(parents=True, exist_ok=True)
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        sources = collect(DATA, Amounts(), SEED)
        for recipe in missing:
            _make(recipe, sources, models)
    return models


def look_ms(models: Path, name: str) -> float:
    """The median processor time of a look, its picture being ready, in milliseconds."""
    entry = Catalogue([models]).find(name)
    network, taken_s = open_model(entry, threads=1), list[float]()
    pixels = np.random.default_rng(SEED).normal(size=(1, *entry.card.input.item_shape)).astype(np.float32)
    for _ in range(TIMED):
        began_s = time.thread_time()
        network.run(pixels)
        taken_s.append(time.thread_time() - began_s)
    return 1000 * median(taken_s)


def _follows_from() -> str:
    """Everything that the recognisers follow from but the code, in short."""
    recipes = [(each.name, each.input, each.classes, each.looks, each.schedule, each.seed) for each in (DEAR, MIDDLE)]
    learnt = f"{lite2.SHA256} {recipes} {SEED} {EVERY} {LEVELS} {RIGHT} {FOLDS} {SHARES} {TYPES} {Amounts()}"
    return hashlib.sha256(f"{learnt} {CORRECTIONS.read_text()}".encode()).hexdigest()[:16]


def _make(recipe: Recipe, sources: Sources, models: Path) -> None:
    print(f"{recipe.name}: {recipe.looks} looks at {recipe.side} px", flush=True)
    backbone = lite2.lite2(CACHE / Path(lite2.MEMBER).name)
    see = seeing(backbone, recipe.input)
    looks = looked(see, recipe, sources)
    left = unseen(see, recipe, sources, looks)
    named = left.named()
    tuned = replace(recipe, temperature=round(left.temperature(), 3), min_confidence=least_confidence(named))
    network = nn.Sequential(*backbone, last_layer(recipe, sources, looks))
    with TemporaryDirectory(prefix=".making-", dir=models) as scratch:
        part = Path(scratch) / recipe.name
        part.mkdir()
        export(network, part / WEIGHTS, recipe.side)
        write_card(part, _card(tuned, network, named, part))
        part.rename(models / recipe.name)


def _card(recipe: Recipe, network: nn.Module, named: Named, folder: Path) -> ModelCard:
    size = f"{recipe.side} px, {multiply_adds(network, recipe.side) / 1e6:.0f} M multiply-adds"
    return ModelCard(
        name=recipe.name,
        version=recipe.version,
        task="classify",
        file=WEIGHTS,
        sha256=file_sha256(folder / WEIGHTS),
        licence="Apache-2.0",
        source=f"benchmarks/recogniser_parts/dear.py; starts from {lite2.NAME} (Apache-2.0); {LEARNT_FROM}",
        description=f"{recipe.description} ({size})",
        input=recipe.input,
        outputs=(OUTPUT,),
        classes=recipe.classes,
        scores="logits",
        temperature=recipe.temperature,
        min_confidence=recipe.min_confidence,
        views=VIEWS,
        other_label="other",
        accuracy=tuple(_figures(named, recipe.min_confidence)),
    )


def _figures(named: Named, least: float) -> Iterator[Accuracy]:
    for view, part in parts(named):
        told = {"top-1": float(part.right.mean()), f"named from {least}": part.coverage(least)}
        if part.named(least).any():
            told[f"right of the named from {least}"] = part.precision(least)
        for metric, value in told.items():
            dataset = f"crops of street cameras, {view}"
            yield Accuracy(dataset=dataset, split=SPLIT, metric=metric, value=round(value, 3), n=len(part.crops))


if __name__ == "__main__":
    main()
