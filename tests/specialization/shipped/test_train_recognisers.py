"""What the script writes beside the weights."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from serving.catalogue.lookup import SHIPPED, Catalogue, verify
from specialization.shipped.collect import Sources
from specialization.shipped.recipes import RECIPES
from specialization.shipped.train_recognisers import WEIGHTS, describe


def test_a_card_says_what_its_recipe_says_and_what_its_weights_reach(tmp_path: Path) -> None:
    recipe = RECIPES[-1]
    directory = tmp_path / recipe.name
    directory.mkdir()
    shutil.copy(SHIPPED / recipe.name / WEIGHTS, directory)
    shapes = [np.full((40, 30, 3), level, np.uint8) for level in (20, 120, 220)]
    held_out = {("plain", "all"): [(image, name) for image in shapes for name in ("person", "car")]}
    describe(recipe, directory, Sources({}, held_out), threads=1)
    entry = Catalogue([tmp_path]).find(recipe.name)
    verify(entry)
    card = entry.card
    assert (card.version, card.temperature, card.min_confidence) == (
        recipe.version,
        recipe.temperature,
        recipe.min_confidence,
    )
    assert card.input == recipe.input(recipe.side)
    figures = {(figure.dataset, figure.metric): figure for figure in card.accuracy}
    assert figures["plain", "top-1"].n == 6
    assert figures["plain", "top-1"].value <= 0.5, "no picture is a person and a vehicle at once"
    assert ("plain", "recall of vehicle") in figures
