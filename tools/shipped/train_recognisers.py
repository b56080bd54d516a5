"""Trains and measures the recognisers of types that ship: ``python -m tools.shipped.train_recognisers``.

Takes minutes with a GPU, and about an hour on one core and 10 GB of memory without. The same seeds give the same
pictures and batches; the weights vary a little with the machine, because floating-point sums do.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

from datasets.camera_crops import CREDITS
from serving.catalogue.cards import Accuracy, ModelCard, write_card
from serving.catalogue.lookup import SHIPPED, file_sha256
from tools.architectures.export import OUTPUT, export
from tools.architectures.registry import multiply_adds
from tools.shipped.classifier import Classifier
from tools.shipped.collect import Amounts, Sources, collect
from tools.shipped.measure import accuracies, predictor, teacher, unseen
from tools.shipped.recipes import RECIPES, VIEWS, Recipe
from tools.shipped.samples import Samples
from tools.shipped.tuning import Looking, Looks, Teacher, as_labelled, as_taught, look, mirrored, tune

WEIGHTS = "model.onnx"
LEARNT_FROM = "; ".join(
    (
        *CREDITS.values(),
        "vehicle photos of Zenodo record 6634554 (CC BY 4.0)",
        "two sample clips of Intel's IoT developer kit (CC BY 4.0)",
        "CIFAR-10",
        "drawn streets",
    )
)
"""The sources, for the card, with who is to be named."""


def main() -> None:
    """Train the recognisers named, or all."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    cv2.setNumThreads(arguments.threads)
    sources = collect(arguments.data, Amounts(), seed=1)
    for recipe in RECIPES:
        if recipe.name not in (arguments.only or [recipe.name]):
            continue
        directory = arguments.models / recipe.name
        if not arguments.cards:
            directory.mkdir(parents=True, exist_ok=True)
            taught_by = None if recipe.teacher is None else teacher(arguments.models, recipe.teacher, arguments.threads)
            looks = looks_of(recipe, sources, arguments.data, taught_by)
            network = train(recipe, sources, looks, arguments.data)
            export(network, directory / WEIGHTS, recipe.side, half=True)
        describe(recipe, directory, sources, arguments.threads)


def looks_of(recipe: Recipe, sources: Sources, data: Path, taught_by: Teacher | None = None) -> Looks:
    """What the part that stays makes of the recipe's pictures, and its teacher, where it has one."""
    network = recipe.build()
    recipe.backbone.start(network, data)
    rng = np.random.default_rng(recipe.seed)
    how = Looking(recipe.looks, teacher=taught_by)
    stays = network.early if recipe.frozen else nn.Identity()
    return look(stays, recipe.input, sources.samples(recipe), how, rng)


def train(
    recipe: Recipe, sources: Sources, looks: Looks, data: Path, without: Collection[str] = (), steps: int | None = None
) -> Classifier:
    """A network trained by its recipe, ``without`` the crops of some cameras, in fewer steps where asked."""
    torch.manual_seed(recipe.seed)
    network = recipe.build()
    recipe.backbone.start(network, data)
    schedule = replace(recipe.schedule, steps=steps or recipe.schedule.steps)
    print(f"{recipe.name}: {recipe.looks} looks, {schedule.steps} steps at {recipe.side} px", flush=True)
    rng = np.random.default_rng(recipe.seed)
    loss = partial(as_labelled, smoothing=schedule.smoothing) if looks.taught is None else as_taught
    batches = looks.batches(sources.samples(recipe, without), schedule.batch, rng)
    if recipe.frozen:
        tune(network.late, batches, schedule, loss)
    else:
        tune(network, mirrored(batches, rng), schedule, loss)
    return network.fold()


def describe(recipe: Recipe, directory: Path, sources: Sources, threads: int) -> None:
    """Write the card of the weights that lie there, measure them as it says, and write it again with the figures."""
    write_card(directory, _card(recipe, directory, []))
    predict = predictor(directory.parent, recipe.name, threads)
    figures: list[Accuracy] = []
    for (dataset, split), named in sources.held_out.items():
        samples = Samples.of(named, recipe.classes)
        figures += accuracies(dataset, split, samples, predict(samples.images), recipe.classes)
    figures += unseen(recipe.name)
    write_card(directory, _card(recipe, directory, figures))
    for figure in figures:
        print(f"  {figure.value:.3f}  {figure.metric}, {figure.dataset} ({figure.n})", flush=True)


def _card(recipe: Recipe, directory: Path, figures: list[Accuracy]) -> ModelCard:
    network = recipe.build()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    size = f"{parameters / 1e6:.2f} M parameters, {multiply_adds(network, recipe.side) / 1e6:.0f} M multiply-adds"
    return ModelCard(
        name=recipe.name,
        version=recipe.version,
        tier=recipe.tier,
        task="classify",
        file=WEIGHTS,
        sha256=file_sha256(directory / WEIGHTS),
        licence="Apache-2.0",
        source=f"tools/shipped/train_recognisers.py; starts from {recipe.backbone.name} (Apache-2.0); {LEARNT_FROM}",
        description=f"{recipe.description} ({size})",
        input=recipe.input,
        outputs=(OUTPUT,),
        classes=recipe.classes,
        scores="logits",
        temperature=recipe.temperature,
        min_confidence=recipe.min_confidence,
        views=VIEWS,
        other_label="other",
        accuracy=tuple(figures),
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.shipped.train_recognisers", description=__doc__)
    parser.add_argument("--only", action="append", choices=[recipe.name for recipe in RECIPES], help="repeatable")
    parser.add_argument("--cards", action="store_true", help="train nothing: measure the weights in --models again")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="images/, videos/ and weights/")
    parser.add_argument("--models", type=Path, default=SHIPPED, help="where the results go")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
