"""What is committed of recognisers made of a user's crops, and what the how-to shows of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from benchmarks.harness import RESULTS
from benchmarks.own_recogniser import BASES, CLASSES, SIZES, some
from datasets.camera_crops import Crop

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "train-a-recogniser.md"


def committed() -> list[dict[str, str]]:
    with (RESULTS / "own_recogniser.csv").open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def test_every_base_is_measured_with_few_and_with_more_crops_on_cameras_held_out() -> None:
    rows = committed()
    assert len(rows) == len(BASES) * len(SIZES) * 3
    assert {row["held_out"] for row in rows} == {"camera"}


def test_what_is_made_of_crops_is_better_than_the_network_it_starts_from() -> None:
    by_way = {(row["base"], row["crops"], row["way"]): float(row["balanced"]) for row in committed()}
    for (base, crops, way), balanced in by_way.items():
        if way != "as it ships":
            assert balanced > by_way[base, crops, "as it ships"]


def test_the_report_that_the_how_to_shows_is_that_of_a_row() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (row,) = [row for row in committed() if (row["base"], row["way"]) == ("vehicle-type", "last block")][-1:]
    assert f"mine: {row['measured']} crops held out, cameras not learnt from" in page
    assert f"mean of the classes {float(row['balanced']):.3f}" in page
    assert f"named {float(row['named']):.3f}, of these right {float(row['right']):.3f}" in page
    for name, counts in zip(CLASSES, json.loads(row["confusion"]), strict=True):
        assert [name, *map(str, counts)] in [line.split() for line in page.splitlines()]
    assert f"{row['crops']} crops of four classes" in page


def test_crops_are_taken_from_all_cameras_alike() -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    crops = [
        Crop(image, name, "vietnam_cctv", camera, f"{camera}_{number}_0.jpg")
        for name in CLASSES
        for camera, count in (("cam1", 40), ("cam2", 5))
        for number in range(count)
    ]
    taken = some(crops, 12)
    assert len(taken.labels) == 12 * len(CLASSES)
    assert sum(place.camera == "cam2" for place in taken.places) == 5 * len(CLASSES)
