"""The models in the package are whole, small, and as good as their cards say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from datasets import vehicle6
from datasets.street import street_crops
from serving.catalogue.cards import Accuracy, ModelCard
from serving.catalogue.lookup import SHIPPED, Catalogue, verify
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.quantise import quantised
from serving.preprocess import batch
from tools.shipped.collect import DRAWN_SIZE, UNSEEN_SEED, renamed
from tools.shipped.measure import PARTS, predictor, unseen
from tools.shipped.recipes import RECIPES, VEHICLE_TYPES, VIEWS, Recipe
from tools.shipped.samples import Named, Samples

NAMES = [*(recipe.name for recipe in RECIPES), "street-kind"]

FLOORS = {
    ("vehicle-type", "vehicle6 photos"): 0.90,
    ("vehicle-type", "drawn street crops"): 0.86,
    ("vehicle-type-compact", "vehicle6 photos"): 0.88,
    ("vehicle-type-compact", "drawn street crops"): 0.84,
    ("street-kind", "vehicle6 photos"): 0.95,
    ("street-kind", "drawn street crops"): 0.90,
}
"""The least share of right answers of what may ship, whatever its card says: a new training must not slip below."""


def _card(name: str) -> ModelCard:
    return Catalogue([SHIPPED]).find(name).card


def _accuracy(card: ModelCard, dataset: str) -> Accuracy:
    (figure,) = [each for each in card.accuracy if each.dataset == dataset and each.metric == "top-1"]
    return figure


def _reached(name: str, named: list[Named]) -> tuple[float, int]:
    """The share of right answers, through the code that serves."""
    card = _card(name)
    samples = Samples.of(_called(card, renamed(named)), card.classes)
    probabilities = predictor(SHIPPED, name, threads=1)(samples.images)
    right = samples.targets[np.arange(len(named)), probabilities.argmax(axis=1)] > 0
    return float(right.mean()), len(right)


def _called(card: ModelCard, named: list[Named]) -> list[Named]:
    """All types are vehicles to a recogniser that tells these from persons."""
    if "vehicle" not in card.classes:
        return named
    return [(image, "vehicle" if {*name.split("|")} <= {*VEHICLE_TYPES} else name) for image, name in named]


def _not_worse(value: float, n: int, claimed: float) -> bool:
    """Within three standard errors of so small a sample, below the card's figure."""
    return value >= claimed - 3 * math.sqrt(max(claimed * (1 - claimed), 0.02) / n)


@pytest.mark.parametrize("name", NAMES)
def test_cards_speak_of_these_weights(name: str) -> None:
    entry = Catalogue([SHIPPED]).find(name)
    verify(entry)
    assert entry.card.other_label == "other"
    assert {figure.dataset for figure in entry.card.accuracy} >= {"vehicle6 photos", "drawn street crops"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_cards_say_how_far_they_can_be_trusted(recipe: Recipe) -> None:
    card = _card(recipe.name)
    assert (card.views, card.temperature, card.min_confidence) == (VIEWS, recipe.temperature, recipe.min_confidence)
    assert card.min_confidence >= 0.5


def test_the_card_says_what_is_named_on_cameras_left_out_by_light_and_size() -> None:
    figures = list(unseen("vehicle-type"))
    assert len(figures) == 2 * len(PARTS)
    assert {each.metric.rpartition(" from ")[0] for each in figures} == {"named", "right of the named"}
    assert all(each in _card("vehicle-type").accuracy for each in figures), (
        "the card was written before the cameras were left out"
    )


def test_all_weights_together_are_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*.onnx")) <= 8_500_000


def test_the_compact_one_is_much_cheaper() -> None:
    reference, compact = (_kernels(SHIPPED / name / "model.onnx") for name in ("vehicle-type", "vehicle-type-compact"))
    assert compact * 4 <= reference <= 3_400_000
    assert _kernels(SHIPPED / "street-kind" / "model.onnx") <= 120_000


def _kernels(path: Path) -> int:
    return sum(numpy_helper.to_array(tensor).size for tensor in onnx.load(path).graph.initializer)


@pytest.mark.parametrize(("name", "dataset"), FLOORS)
def test_cards_claim_no_less_than_may_ship(name: str, dataset: str) -> None:
    assert _accuracy(_card(name), dataset).value >= FLOORS[name, dataset]


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_photos_never_learnt_are_recognised_as_well_as_the_card_says(name: str, data_dir: Path) -> None:
    value, n = _reached(name, vehicle6.load(data_dir / "images" / "vehicle6", "test"))
    card = _accuracy(_card(name), "vehicle6 photos")
    assert n == card.n
    assert value == pytest.approx(card.value, abs=0.01), "the same photos: only the runtime's rounding differs"
    assert value >= FLOORS[name, "vehicle6 photos"]


@pytest.fixture(scope="module")
def drawn() -> list[tuple[np.ndarray, str]]:
    images, labels = street_crops(UNSEEN_SEED, 240, DRAWN_SIZE)
    return list(zip(images, labels, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_drawn_crops_never_learnt_are_recognised_as_well_as_the_card_says(
    name: str, drawn: list[tuple[np.ndarray, str]]
) -> None:
    value, n = _reached(name, drawn)
    assert _not_worse(value, n, _accuracy(_card(name), "drawn street crops").value)


def test_in_int8_vehicle_type_says_the_same() -> None:
    name, card = "vehicle-type", _card("vehicle-type")
    pictures, _ = street_crops(777_003, 160, DRAWN_SIZE)
    items = batch(card.input, pictures)[0]
    model = onnx.load(SHIPPED / name / card.file)

    def words(graph: onnx.ModelProto) -> NDArray[np.intp]:
        engine = OnnxRuntimeEngine(name, threads=1)
        engine.load([graph.SerializeToString()])
        return np.concatenate([engine.run(0, items[i : i + 16])[0] for i in range(64, 160, 16)]).argmax(axis=1)

    assert (words(model) == words(quantised(name, model, items[:64]))).mean() >= 0.85
