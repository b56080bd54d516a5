"""Makes the networks of ``benchmarks.weg_images`` for plates: ``python -m benchmarks.weg_parts.train_plates``.

Every picture is drawn for the step that learns from it. Takes about an hour on one core; the same seeds give the
same pictures, the weights vary a little with the number of threads.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from datasets.plates import CLASSES, photo, pictures, plate
from serving.catalogue.cards import Accuracy, ImageInput, ModelCard, write_card
from serving.catalogue.lookup import file_sha256
from tools.architectures.export import OUTPUT, export
from tools.architectures.registry import multiply_adds
from tools.architectures.resnet import ResNet
from tools.shipped.measure import accuracies, predictor
from tools.shipped.networks import SMALL_STEM
from tools.shipped.samples import Samples
from tools.shipped.training import Schedule, fit

MODELS = Path(__file__).parent / "models"
FILE = "model.onnx"
TEST_SEED, TEST_PICTURES = 1_000_001, 3000


@dataclass(frozen=True)
class Stage:
    """A part of the training at one input size; small pictures first make it cheap (Howard, 2018)."""

    side: int
    schedule: Schedule


@dataclass(frozen=True)
class Plan:
    """A residual network for plates, and how long it learns at which size; the last size is served."""

    name: str
    tier: str
    depths: tuple[int, ...]
    widths: tuple[int, ...]
    stages: tuple[Stage, ...]
    seed: int

    @property
    def side(self) -> int:
        """Pixels of the served input."""
        return self.stages[-1].side


PLANS = (
    Plan(
        "plates",
        "reference",
        depths=(2, 2, 2, 2),
        widths=(32, 64, 128, 192),
        stages=(
            Stage(48, Schedule(steps=1800, rate=0.08)),
            Stage(96, Schedule(steps=120, rate=0.01)),
            Stage(96, Schedule(steps=300, rate=0.02)),
        ),
        seed=1,
    ),
    Plan(
        "plates-compact",
        "compact",
        depths=(1, 1, 1),
        widths=(16, 32, 64),
        stages=(Stage(32, Schedule(steps=2500, rate=0.1, weight_decay=1e-4)),),
        seed=2,
    ),
)


def main() -> None:
    """Train the networks named, or both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weg_parts.train_plates", description=__doc__)
    parser.add_argument("--only", action="append", choices=[plan.name for plan in PLANS], help="repeatable")
    parser.add_argument("--models", type=Path, default=MODELS, help="where the results go")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for plan in PLANS:
        if plan.name in (arguments.only or [plan.name]):
            ship(plan, train(plan), arguments.models, arguments.threads)


def train(plan: Plan) -> ResNet:
    """A network that has learnt by its plan."""
    torch.manual_seed(plan.seed)
    network = ResNet(len(CLASSES), plan.depths, SMALL_STEM, widths=plan.widths)
    fronts = [plate(label) for label in range(len(CLASSES))]
    samples = Samples(fronts, np.eye(len(CLASSES), dtype=np.float32), np.full(len(CLASSES), 1 / len(CLASSES)))
    for number, stage in enumerate(plan.stages):
        print(f"{plan.name}: {stage.schedule.steps} steps at {stage.side} px", flush=True)
        rng = np.random.default_rng((plan.seed, number))
        fit(network, image_input(stage.side), samples, stage.schedule, rng, change=photo)
    return network


def ship(plan: Plan, network: ResNet, models: Path, threads: int) -> None:
    """Write weights and card, then the card again with the accuracy on pictures of another seed."""
    directory = models / plan.name
    directory.mkdir(parents=True, exist_ok=True)
    export(network, directory / FILE, plan.side, half=True)
    write_card(directory, card(plan, network, directory, ()))
    rng = np.random.default_rng(TEST_SEED)
    labels = rng.integers(0, len(CLASSES), TEST_PICTURES)
    samples = Samples.of(zip(pictures(rng, labels), (CLASSES[label] for label in labels), strict=True), CLASSES)
    predict = predictor(models, plan.name, threads)
    figures = accuracies("plates", f"seed {TEST_SEED}, never learnt", samples, predict(samples.images), CLASSES)[:1]
    write_card(directory, card(plan, network, directory, figures))
    print(f"{plan.name}: {figures[0].value:.3f} of {figures[0].n} right", flush=True)


def card(plan: Plan, network: ResNet, directory: Path, figures: Sequence[Accuracy]) -> ModelCard:
    """What ``model.yaml`` says."""
    parameters = sum(parameter.numel() for parameter in network.parameters())
    size = f"{parameters / 1e6:.2f} M parameters, {multiply_adds(network, plan.side) / 1e6:.0f} M multiply-adds"
    return ModelCard(
        name=plan.name,
        version="1",
        tier=plan.tier,
        task="classify",
        file=FILE,
        sha256=file_sha256(directory / FILE),
        licence="Apache-2.0",
        source="benchmarks/weg_parts/train_plates.py",
        description=f"Which of 120 generated plates a photo shows ({size})",
        input=image_input(plan.side),
        outputs=(OUTPUT,),
        classes=CLASSES,
        scores="logits",
        accuracy=tuple(figures),
    )


def image_input(side: int) -> ImageInput:
    """What both networks read, at a size."""
    return ImageInput(width=side, height=side, scale=1 / 255, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))


if __name__ == "__main__":
    main()
