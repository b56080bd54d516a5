"""The network of colours that ships is that of its card, and says nothing where no colour can be told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datasets import camera_crops
from datasets.street.portraits import portrait
from serving.catalogue.lookup import SHIPPED, Catalogue, verify
from serving.common.tensors import Image, words
from tests.tools.shipped.colour.test_pictures import on_grey
from tools.shipped.colour import train_colour
from tools.shipped.colour.lights import under_sodium
from tools.shipped.colour.paints import COLOURS, PAINTS
from tools.shipped.colour.train_colour import NAME, describe, read_by_eye
from tools.shipped.measure import predictor


def drawn(colour: str, count: int = 12) -> list[Image]:
    rng = np.random.default_rng(4)
    return [on_grey(portrait(rng, PAINTS[colour][0])) for _ in range(count)]


def named(images: list[Image]) -> list[str]:
    """What is published of each, by the temperature and confidence of the card."""
    card = Catalogue([SHIPPED]).find(NAME).card
    shares = predictor(SHIPPED, NAME, threads=1)(images)
    heated = shares ** (1 / card.temperature)
    said = words(heated / heated.sum(axis=1, keepdims=True), card.min_confidence)
    return [COLOURS[at] if at >= 0 else "unknown" for at in said.tolist()]


def test_the_card_speaks_of_these_weights_and_names_its_sources() -> None:
    entry = Catalogue([SHIPPED]).find(NAME)
    verify(entry)
    assert entry.card.classes == COLOURS
    assert entry.card.min_confidence >= 0.5
    assert all(credit in entry.card.source for credit in camera_crops.CREDITS.values())
    assert entry.path.stat().st_size < 300_000


@pytest.mark.parametrize("colour", ["white", "red", "blue", "green", "yellow"])
def test_a_drawn_vehicle_has_its_colour_by_day_and_none_under_sodium(colour: str) -> None:
    said = named(drawn(colour))
    assert set(said) <= {colour, "unknown"}
    assert said.count(colour) >= 8
    rng = np.random.default_rng(1)
    assert named([under_sodium(image, rng) for image in drawn(colour)]).count("unknown") >= 11


@pytest.mark.data
def test_crops_read_by_eye_are_named_as_the_card_says(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (data_dir / "crops").is_dir():
        pytest.skip(f"no crops of street cameras at {data_dir / 'crops'}")
    entry = Catalogue([SHIPPED]).find(NAME)
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / entry.card.file).write_bytes(entry.path.read_bytes())
    crops = camera_crops.read(data_dir / "crops")
    describe(crops, folder, threads=1)
    again = Catalogue([tmp_path]).find(NAME).card
    assert (again.temperature, again.min_confidence) == (entry.card.temperature, entry.card.min_confidence)
    assert [each.value for each in again.accuracy] == pytest.approx(
        [each.value for each in entry.card.accuracy], abs=0.03
    )
    judged = read_by_eye(crops, "judged").sure()
    said = named(list(judged.images))
    right = [word == colour for word, colour in zip(said, judged.colours, strict=True) if word != "unknown"]
    assert np.mean(right) > 0.85


def test_lots_that_name_a_crop_that_is_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_colour, "labels", lambda lot: {"nowhere/none.jpg": "red"})
    with pytest.raises(KeyError, match="nowhere"):
        read_by_eye([], "judged")
