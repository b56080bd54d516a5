"""Trains, exports and measures the recognisers that ship: ``python -m specialization.shipped.train_recognisers``.

Takes about an hour on two cores. The same seeds give the same pictures and batches; the weights vary a little with the
number of threads, because floating-point sums do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from serving.architectures.export import OUTPUT, export
from serving.architectures.registry import multiply_adds
from serving.architectures.resnet import ResNet
from serving.catalogue.cards import Accuracy, ModelCard, write_card
from serving.catalogue.lookup import SHIPPED, file_sha256
from specialization.shipped.augment import augment, nudge
from specialization.shipped.collect import HELD_OUT_PHOTOS, Amounts, Sources, collect
from specialization.shipped.doubt import doubt
from specialization.shipped.measure import accuracies, predictor
from specialization.shipped.networks import warm_start
from specialization.shipped.recipes import RECIPES, Recipe
from specialization.shipped.samples import Samples
from specialization.shipped.training import Change, fit, taught

WEIGHTS = "model.onnx"


def main() -> None:
    """Train the recognisers named, or all."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    sources = collect(arguments.data, Amounts(), seed=1)
    for recipe in RECIPES:
        if recipe.name not in (arguments.only or [recipe.name]):
            continue
        directory = arguments.models / recipe.name
        if not arguments.cards:
            network = train(recipe, sources, arguments.data, arguments.models, arguments.threads)
            directory.mkdir(parents=True, exist_ok=True)
            export(network, directory / WEIGHTS, recipe.side, half=True)
        if recipe.doubts and (arguments.doubt or not arguments.cards):
            photos = [image for image, _ in sources.held_out[HELD_OUT_PHOTOS]]
            rng = np.random.default_rng((recipe.seed, len(recipe.stages)))
            doubt(recipe, directory / WEIGHTS, sources.samples(recipe.classes, recipe.groups), photos, rng)
        describe(recipe, directory, sources, arguments.threads)


def train(recipe: Recipe, sources: Sources, data: Path, models: Path, threads: int) -> ResNet:
    """A network trained by its recipe; its teacher, where it has one, must lie in ``models``."""
    torch.manual_seed(recipe.seed)
    network = recipe.build(len(recipe.classes))
    if recipe.start:
        warm_start(network, data / recipe.start)
    samples = sources.samples(recipe.classes, recipe.groups)
    change: Change = augment
    if recipe.teacher:
        teacher = predictor(models, recipe.teacher, threads)
        rng = np.random.default_rng((recipe.seed, len(recipe.stages)))
        samples, change = taught(samples, recipe.lessons, teacher, recipe.teacher_share, rng), nudge
    for number, stage in enumerate(recipe.stages):
        rng = np.random.default_rng((recipe.seed, number))
        print(f"{recipe.name}: {len(samples)} pictures, {stage.schedule.steps} steps at {stage.side} px", flush=True)
        fit(network, recipe.input(stage.side), samples, stage.schedule, rng, change)
    return network


def describe(recipe: Recipe, directory: Path, sources: Sources, threads: int) -> None:
    """Write the card of the weights that lie there, measure them as it says, and write it again with the figures."""
    write_card(directory, _card(recipe, directory, []))
    predict = predictor(directory.parent, recipe.name, threads)
    figures: list[Accuracy] = []
    for (dataset, split), named in sources.held_out.items():
        samples = Samples.of(named, recipe.classes, recipe.groups)
        figures += accuracies(dataset, split, samples, predict(samples.images), recipe.classes)
    write_card(directory, _card(recipe, directory, figures))
    for figure in figures:
        print(f"  {figure.value:.3f}  {figure.metric}, {figure.dataset} ({figure.n})", flush=True)


def _card(recipe: Recipe, directory: Path, figures: list[Accuracy]) -> ModelCard:
    network = recipe.build(len(recipe.classes))
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
        source="specialization/shipped/train_recognisers.py",
        description=f"{recipe.description} ({size})",
        input=recipe.input(recipe.side),
        outputs=(OUTPUT,),
        classes=recipe.classes,
        scores="logits",
        temperature=recipe.temperature,
        min_confidence=recipe.min_confidence,
        views=recipe.views,
        other_label="other",
        accuracy=tuple(figures),
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m specialization.shipped.train_recognisers", description=__doc__)
    parser.add_argument("--only", action="append", choices=[recipe.name for recipe in RECIPES], help="repeatable")
    parser.add_argument("--cards", action="store_true", help="train nothing: measure the weights in --models again")
    parser.add_argument("--doubt", action="store_true", help="with --cards: learn anew what is familiar")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="images/, videos/ and weights/")
    parser.add_argument("--models", type=Path, default=SHIPPED, help="where the results go")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
