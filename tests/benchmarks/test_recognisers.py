"""The labelled objects and what is computed of them."""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import RESULTS
from benchmarks.recogniser_parts.calibration import Answers, Scored, calibration_error, temperature
from benchmarks.recogniser_parts.looks import CLIPS, LABELLED, PHOTOS, UNCLEAR, by_track, read, write
from benchmarks.recogniser_parts.views import labelled_views
from benchmarks.recognisers import BEFORE, DETECTOR, FITTED, LEFT_OUT, measure
from serving.catalogue.lookup import SHIPPED, Catalogue
from tools.shipped.collect import FOLDS
from tools.shipped.recipes import RECIPES, VEHICLE_TYPES, Recipe

DOCS = Path(__file__).parents[2] / "docs"
TYPES = {*VEHICLE_TYPES, "person", "other", UNCLEAR}


def test_every_object_has_one_type() -> None:
    looks = read()
    assert {look.clip for look in looks} == {*CLIPS, PHOTOS}
    assert {look.kind for look in looks} <= TYPES
    for track in by_track(looks).values():
        assert len({look.kind for look in track}) == 1
        assert [look.frame for look in track] == sorted({look.frame for look in track})


def test_boxes_lie_in_the_frame() -> None:
    for look in read():
        box = look.box
        assert 0 <= box.x_min < box.x_max <= 1.0001
        assert 0 <= box.y_min < box.y_max <= 1.0001


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write(read(), tmp_path / "copy.csv")
    assert (tmp_path / "copy.csv").read_bytes() == LABELLED.read_bytes()


def test_the_temperature_undoes_what_the_logits_were_multiplied_by() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (20_000, 4))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    targets = (rng.random((20_000, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    for factor in (0.5, 1.0, 3.0):
        assert temperature([Scored((logits * factor).astype(np.float32), targets)]) == pytest.approx(factor, rel=0.05)


def test_each_view_counts_alike_for_the_temperature() -> None:
    sure = Scored(np.tile(np.float32([4.0, 0.0]), (1000, 1)), np.zeros(1000, np.intp))
    wrong = Scored(np.tile(np.float32([4.0, 0.0]), (10, 1)), np.ones(10, np.intp))
    assert temperature([sure]) < 0.2
    assert temperature([sure, wrong]) > 9


def test_calibration_error_against_its_definition() -> None:
    rng = np.random.default_rng(4)
    confidence, right = rng.random(500), rng.random(500) < 0.5
    bins = defaultdict(list)
    for value, hit in zip(confidence, right, strict=True):
        bins[min(int(value * 10), 9)].append((value, hit))
    expected = sum(abs(sum(v for v, _ in each) - sum(h for _, h in each)) for each in bins.values()) / 500
    assert calibration_error(confidence, right) == pytest.approx(expected)
    assert calibration_error(np.array([1.0, 1.0]), np.array([True, True])) == 0.0


def test_answers_that_name_nothing_are_no_answers() -> None:
    said, confidence = np.array([0, 0, 2, 1, 0]), np.array([0.9, 0.4, 0.95, 0.8, 0.7])
    answers = Answers(said, confidence, np.array([0, 0, 1, 0, 2]), other=2)
    assert answers.given(0.5).tolist() == [True, False, False, True, True]
    assert answers.precision(0.5) == pytest.approx(1 / 3)
    assert answers.coverage(0.5) == pytest.approx(2 / 4)
    assert np.isnan(answers.precision(0.99))
    assert np.isnan(Answers(said, confidence, np.full(5, 2), other=2).coverage(0.0))


def rows() -> list[dict[str, str]]:
    """All that was measured."""
    with (RESULTS / "recognisers.csv").open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def committed() -> list[dict[str, str]]:
    """The rows at which answers are given as the cards say."""
    return [row for row in rows() if row["shipped"] == "True"]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_committed_figures_are_those_of_the_cards(recipe: Recipe) -> None:
    mine = [row for row in committed() if row["model"] == recipe.name]
    assert {float(row["least_confidence"]) for row in mine} == {
        Catalogue([SHIPPED]).find(recipe.name).card.min_confidence
    }
    assert {row["view"] for row in mine} >= {*FITTED}


def left_out(view: str, model: str = LEFT_OUT) -> dict[str, str]:
    """What the card's least confidence gives on crops of cameras that were left out."""
    (found,) = [row for row in committed() if (row["model"], row["view"]) == (model, view)]
    return found


def test_every_camera_was_left_out_once() -> None:
    views = {row["view"] for row in committed() if row["model"] == LEFT_OUT}
    cameras = [camera for fold in FOLDS for camera in fold]
    assert {f"camera {camera}" for camera in cameras} <= views
    assert len(cameras) == len(set(cameras)) == 12


def test_cameras_left_out_are_named_more_rightly_than_before_and_than_by_the_detector() -> None:
    now = float(left_out("all cameras")["balanced"])
    assert now > float(left_out("all cameras", BEFORE)["balanced"]) + 0.1
    assert now > float(left_out("all cameras", DETECTOR)["balanced"]) + 0.1


def test_at_night_what_is_named_is_right() -> None:
    assert float(left_out("light night")["right_given"]) >= 0.9
    assert float(left_out("light night")["given"]) >= 0.4


def test_confidences_on_cameras_left_out_are_honest_on_the_whole() -> None:
    assert float(left_out("all cameras")["ece"]) <= 0.07


def short(value: str | Decimal) -> str:
    """As the pages have it: .63 for 0.625."""
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP)).removeprefix("0")


@pytest.mark.parametrize(
    ("words", "view", "model"),
    [
        ("all cameras, left out", "all cameras", LEFT_OUT),
        ("a view from a bridge", "camera road_clip", LEFT_OUT),
        ("roadside photos, Nepal", "camera nepal_street", LEFT_OUT),
        ("longer side below 48 pixels", "size below 48 px", LEFT_OUT),
        ("the network that shipped first, 607 of the crops", "all cameras", BEFORE),
        ("the detector, 607 of the crops", "all cameras", DETECTOR),
    ],
)
def test_the_page_of_figures_has_those_of_the_cameras(words: str, view: str, model: str) -> None:
    found = left_out(view, model)
    figures = [short(found[key]) for key in ("balanced", "given", "right_given", "given_at_90", "ece")]
    assert f"| {words} | {' | '.join(figures)} |\n" in (DOCS / "benchmarks.md").read_text()


def test_the_pages_say_what_was_measured() -> None:
    ours, detectors = (left_out(f"where {DETECTOR} has a word too", model) for model in (LEFT_OUT, DETECTOR))
    right = (
        f"({ours['n']}), {short(ours['right'])} of the network's words are right, and {short(detectors['right'])} of"
    )
    assert right in (DOCS / "benchmarks.md").read_text()
    cameras = [left_out(f"camera {camera}") for fold in FOLDS for camera in fold]
    named, rightly = (short(sum(Decimal(each[key]) for each in cameras) / 12) for key in ("given", "right_given"))
    said = f"{named} of the vehicles of a camera left out are named, and {rightly} of the names are right on the mean"
    assert said in (DOCS / "decisions" / "0011-models-that-ship.md").read_text()


@pytest.mark.data
def test_views_hold_what_the_file_says(data_dir: Path) -> None:
    views = {view.name: view for view in labelled_views(0.08)}
    assert {"street level", "car park", "any view"} <= set(views)
    for view in views.values():
        assert len(view.pictures) == len(view.kinds)
        assert UNCLEAR not in view.kinds
    assert not views["any view"].looks


@pytest.mark.data
def test_the_smallest_recogniser_is_measured_per_look_and_per_track(data_dir: Path) -> None:
    outcome = measure(quick=True)
    assert {row["unit"] for row in outcome.rows if row["view"] == "street level"} == {"look", "track"}
    (name,) = outcome.headline
    assert set(outcome.headline[name]) == {"temperature", *FITTED} - {"drawn streets"}
