"""A folder of pictures, each of which is classified as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pipelines.query.compiled import compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from tests.models import mean_model

COLOURS = {"blue": (250, 20, 20), "green": (20, 250, 20), "red": (20, 20, 250)}
PICTURES = 40


def write_pictures(folder: Path) -> list[str]:
    """So many pictures of different sizes; returns what each shows, in the order of their names."""
    folder.mkdir()
    shown = [list(COLOURS)[n % 3] for n in range(PICTURES)]
    for number, word in enumerate(shown):
        picture = np.full((40 + number, 90 - number, 3), COLOURS[word], np.uint8)
        cv2.imwrite(str(folder / f"picture{number}.jpg"), picture)
    return shown


def query(folder: Path, *more: dict[str, Any]) -> Query:
    scene = {"name": "colour", "task": "recognise", "input": "frame", "model": "means"}
    return Query.model_validate(
        {
            "version": 1,
            "name": "test",
            "slo_ms": 60_000,
            "streams": [{"id": "album", "uri": str(folder)}],
            "nodes": [scene, *more],
        }
    )


def test_each_picture_has_one_answer(tmp_path: Path) -> None:
    shown = write_pictures(tmp_path / "album")
    wanted, out = query(tmp_path / "album"), tmp_path / "out.jsonl"
    report = run_query(compiled(wanted, mean_model(tmp_path / "models")), Outputs(str(out)))
    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert [[each["label"] for each in result["objects"]] for result in results] == [[word] for word in shown]
    assert [round(result["frame"]["media_time_s"] * 10) for result in results] == list(range(PICTURES))
    (found,) = results[0]["objects"]
    assert found["detection"]["bounding_box"] == {"x_min": 0.0, "y_min": 0.0, "x_max": 1.0, "y_max": 1.0}
    assert [(each["name"], each["provenance"]) for each in found["attributes"]] == [("colour", "oracle")]
    assert report.objects == {word: shown.count(word) for word in COLOURS}


def test_a_second_recogniser_answers_for_the_same_object(tmp_path: Path) -> None:
    shown = write_pictures(tmp_path / "album")
    again = {"name": "again", "task": "recognise", "input": "colour[colour == red]", "model": "means"}
    wanted, out = query(tmp_path / "album", again), tmp_path / "out.jsonl"
    run_query(compiled(wanted, mean_model(tmp_path / "models")), Outputs(str(out)))
    for line, word in zip(out.read_text().splitlines(), shown, strict=True):
        (found,) = json.loads(line)["objects"]
        assert [each["name"] for each in found["attributes"]] == ["colour", *(["again"] if word == "red" else [])]


def test_pictures_are_masked_neither_inside_nor_outside(tmp_path: Path) -> None:
    write_pictures(tmp_path / "album")
    wanted, out = query(tmp_path / "album"), tmp_path / "out.jsonl"
    everything = {"ignore": [[0, 0], [1, 0], [1, 1], [0, 1]]}
    masked = Query.model_validate({**wanted.model_dump(), "masks": [everything]})
    run_query(compiled(masked, mean_model(tmp_path / "models")), Outputs(str(out)))
    assert all(json.loads(line)["objects"] for line in out.read_text().splitlines())
