"""What is committed of ``vehicle-colour`` is what its card and its documentation say."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import colours
from benchmarks.colours_parts.sheet import GREEN, RED, Judged, draw
from benchmarks.harness import RESULTS
from serving.catalogue.lookup import SHIPPED, Catalogue
from tools.shipped.colour.paints import PAINTS
from tools.shipped.colour.train_colour import NAME, labels


def committed() -> list[dict[str, str]]:
    with (RESULTS / "colours.csv").open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def row(who: str = NAME, light: str = "as it is", part: str = "all") -> dict[str, str]:
    (found,) = [row for row in committed() if (row["who"], row["light"], row["part"]) == (who, light, part)]
    return found


def test_the_figures_are_those_of_the_card() -> None:
    figures = {each.metric: each.value for each in Catalogue([SHIPPED]).find(NAME).card.accuracy}
    assert float(row()["right"]) == pytest.approx(figures["right of named"], abs=5e-4)
    assert float(row()["named"]) == pytest.approx(figures["named"], abs=5e-4)
    assert int(row()["crops"]) + int(row()["unsure"]) == len(labels("judged"))


@pytest.mark.parametrize("who", [NAME, f"{NAME} int8"])
def test_by_day_names_are_right_and_many_and_without_a_colour_there_are_next_to_none(who: str) -> None:
    assert float(row(who, part="day")["right"]) >= 0.88
    assert float(row(who, part="day")["named"]) >= 0.55
    assert float(row(who)["right"]) > float(row("rule")["right"]) + 0.2
    assert float(row(who, "sodium")["named"]) <= 0.02
    assert float(row(who, "colourless")["named"]) <= 0.08


@pytest.mark.parametrize(
    ("colour", "place"), [("white", 0), ("black", 0), ("grey", 3), ("red", 0), ("blue", 0), ("green", 1), ("yellow", 0)]
)
def test_the_rule_knows_a_plain_paint(colour: str, place: int) -> None:
    image = np.full((20, 30, 3), PAINTS[colour][place], np.uint8)
    assert colours.COLOURS[colours.by_rule([image])[0]] == colour


def test_a_frame_on_the_sheet_says_whether_both_agree() -> None:
    grey = np.full((30, 60, 3), 128, np.uint8)
    crops = [Judged(grey, "cam", name) for name in ("red", "red", "red", "unsure")]
    sheet = draw(crops, ["red", "blue", "unknown", "blue"])
    corners = [tuple(sheet[0, place * 72].tolist()) for place in range(4)]
    assert corners == [GREEN, RED, (255, 255, 255), (255, 255, 255)]


def test_every_word_of_the_documentation_has_its_figure() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    for title, light, part in (
        ("all", "as it is", "all"),
        ("by day", "as it is", "day"),
        ("by night, in street light", "as it is", "night"),
        ("of cameras of which other crops were learnt", "as it is", "cameras learnt from"),
        ("of other cameras", "as it is", "other cameras"),
        ("the same crops as a sodium lamp shows them", "sodium", "all"),
        ("the same without colour", "colourless", "all"),
    ):
        mine, rule = row(light=light, part=part), row("rule", light, part)
        shown = [mine["crops"], short(mine["named"]), short(mine["right"]), short(rule["right"])]
        assert f"| {title} | {' | '.join(shown)} |" in page


def short(share: str) -> str:
    return f"{float(share):.2f}".removeprefix("0") if share else "–"
