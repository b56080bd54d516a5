"""What the script writes beside the weights."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from datasets import camera_crops
from datasets.camera_crops import CREDITS, Crop
from serving.catalogue.lookup import SHIPPED, Catalogue, verify
from tools.shipped.collect import Amounts, Sources
from tools.shipped.recipes import RECIPES
from tools.shipped.train_recognisers import WEIGHTS, describe, looks_of, train
from tools.shipped.training import Schedule, to_tensor


def test_a_card_says_what_its_recipe_says_and_what_its_weights_reach(tmp_path: Path) -> None:
    recipe = RECIPES[-1]
    directory = tmp_path / recipe.name
    directory.mkdir()
    shutil.copy(SHIPPED / recipe.name / WEIGHTS, directory)
    shapes = [np.full((40, 30, 3), level, np.uint8) for level in (20, 120, 220)]
    held_out = {("plain", "all"): [(image, name) for image in shapes for name in ("person", "car")]}
    describe(recipe, directory, Sources([], {}, held_out, Amounts(), seed=1), threads=1)
    entry = Catalogue([tmp_path]).find(recipe.name)
    verify(entry)
    card = entry.card
    assert (card.version, card.temperature, card.min_confidence) == (
        recipe.version,
        recipe.temperature,
        recipe.min_confidence,
    )
    assert card.input == recipe.input
    figures = {(figure.dataset, figure.metric): figure for figure in card.accuracy}
    assert figures["plain", "top-1"].n == 6
    assert figures["plain", "top-1"].value <= 0.5, "no picture is a person and a vehicle at once"
    assert ("plain", "recall of car") in figures


def test_the_card_names_the_sources_of_crops(tmp_path: Path) -> None:
    card = Catalogue([SHIPPED]).find("vehicle-type").card
    assert all(credit in card.source for credit in CREDITS.values())
    assert "CC BY 4.0" in card.source


def test_a_network_left_without_a_camera_has_seen_no_crop_of_it() -> None:
    """Neither the camera's crops, nor pieces, nor ghosts of them."""
    shades = {"here": 40, "elsewhere": 200}
    crops = [
        Crop(np.full((40, 40, 3), shade, np.uint8), label, "source", camera, f"{camera}-{label}-{number}")
        for camera, shade in shades.items()
        for label in ("car", "motorcycle")
        for number in range(3)
    ]
    learn = {
        name: [(np.full((40, 40, 3), 200, np.uint8), "car")]
        for name in ("photos", "drawn", "people", "pieces", "cifar")
    }
    samples = Sources(crops, learn, {}, Amounts(riders=5, corners=5, ghosts=5, pairs=5), seed=1).samples(
        RECIPES[0], {"here"}
    )
    drawn = [image for image, chance in zip(samples.images, samples.chances, strict=True) if chance > 0]
    assert min(image.mean() for image in drawn) > 190
    assert len(drawn) < len(samples)
    assert samples.chances.sum() == pytest.approx(1)


@pytest.mark.data
@pytest.mark.parametrize("frozen", [True, False])
def test_the_early_part_learns_where_it_is_not_to_stay(frozen: bool, tmp_path: Path, data_dir: Path) -> None:
    crops = camera_crops.read(data_dir / "crops", ("road_clip",))[:40]
    nothing = [(np.full((40, 40, 3), 120, np.uint8), "other")]
    learn = dict.fromkeys(("photos", "drawn", "people", "pieces", "cifar"), nothing)
    sources = Sources(crops, learn, {}, Amounts(riders=2, corners=2, ghosts=2, pairs=2), seed=1)
    recipe = replace(RECIPES[1], looks=16, frozen=frozen, schedule=Schedule(steps=3, rate=1e-3, batch=8))
    network, start = train(recipe, sources, looks_of(recipe, sources, data_dir), data_dir), recipe.build()
    recipe.backbone.start(start, data_dir)
    pairs = zip(network.early.parameters(), start.early.parameters(), strict=True)
    same = [torch.equal(one, other) for one, other in pairs]
    assert all(same) == frozen


@pytest.mark.data
def test_it_learns_in_a_few_steps_what_two_cameras_show(tmp_path: Path, data_dir: Path) -> None:
    crops = camera_crops.read(data_dir / "crops", ("road_clip",))
    few = [crop for crop in crops if crop.label == "car"][:40] + [crop for crop in crops if crop.label == "motorcycle"]
    nothing = [(np.full((40, 40, 3), 120, np.uint8), "other")]
    learn = dict.fromkeys(("photos", "drawn", "people", "pieces", "cifar"), nothing)
    sources = Sources(few, learn, {}, Amounts(riders=5, corners=5, ghosts=5, pairs=5), seed=1)
    recipe = replace(RECIPES[1], looks=512)
    network = train(recipe, sources, looks_of(recipe, sources, data_dir), data_dir, steps=40)
    with torch.inference_mode():
        said = network(to_tensor(recipe.input, [crop.image for crop in few])).argmax(dim=1)
    names = [recipe.classes[each] for each in said]
    assert np.mean([name == crop.label for name, crop in zip(names, few, strict=True)]) >= 0.9
