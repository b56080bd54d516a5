"""Whole frames are classified: each picture of a folder, and the scene that a clip shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from pipelines.query.dag import compiled
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


def write_clip(path: Path, frames: int) -> list[str]:
    """So many frames of each colour, ten a second, in which something moves; returns what each frame shows."""
    shown = [word for word in COLOURS for _ in range(frames)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for number, word in enumerate(shown):
            image = np.full((180, 320, 3), COLOURS[word], np.uint8)
            image[60:90, 10 * (number % 20) : 10 * (number % 20) + 40] = 250
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode())
    return shown


def query(source: Path, *more: dict[str, Any], **scene_more: str) -> Query:
    scene = {"name": "colour", "task": "recognise", "input": "frame", "model": "means", **scene_more}
    return Query.model_validate(
        {
            "version": 1,
            "name": "test",
            "slo_ms": 60_000,
            "streams": [{"id": "album", "uri": str(source)}],
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


def said(path: Path) -> list[list[dict[str, Any]]]:
    """What was said of the one object of each frame."""
    results = [json.loads(line) for line in path.read_text().splitlines()]
    assert [len(result["objects"]) for result in results] == [1] * len(results)
    assert {result["objects"][0]["track_id"] for result in results} == {None}
    return [result["objects"][0]["attributes"] for result in results]


def test_a_clip_is_looked_at_once_a_second_and_where_it_shows_something_else(tmp_path: Path) -> None:
    shown, out = write_clip(tmp_path / "clip.mp4", 34), tmp_path / "out.jsonl"
    again = {"name": "again", "task": "recognise", "input": "colour", "model": "means"}
    report = run_query(
        compiled(query(tmp_path / "clip.mp4", again), mean_model(tmp_path / "models")), Outputs(str(out))
    )
    both = said(out)
    for answers in ([first for first, _ in both], [second for _, second in both]):
        assert {each["provenance"] for each in answers} == {"track"}
        assert sum("looked" in each for each in answers) == 12
        late = [number for number, each in enumerate(answers) if each["label"] != shown[number]]
        assert len(late) <= 2 * 3  # a cut shows in a fifth of a second
    assert [(each.attribute, each.answers, each.looks) for each in report.answers] == [
        (name, len(shown), {"oracle": sum("looked" in answers[place] for answers in both)})
        for place, name in enumerate(("colour", "again"))
    ]


def test_every_frame_of_a_clip_is_looked_at_where_the_query_says_so(tmp_path: Path) -> None:
    shown, out = write_clip(tmp_path / "clip.mp4", 10), tmp_path / "out.jsonl"
    run_query(compiled(query(tmp_path / "clip.mp4", answer="look"), mean_model(tmp_path / "models")), Outputs(str(out)))
    assert [(each["label"], each["provenance"]) for (each,) in said(out)] == [(word, "oracle") for word in shown]


@pytest.mark.parametrize("answer", ["look", "track"])
def test_pictures_are_looked_at_one_by_one_whatever_the_query_says(tmp_path: Path, answer: str) -> None:
    shown, out = write_pictures(tmp_path / "album"), tmp_path / "out.jsonl"
    run_query(compiled(query(tmp_path / "album", answer=answer), mean_model(tmp_path / "models")), Outputs(str(out)))
    assert [(each["label"], each["provenance"]) for (each,) in said(out)] == [(word, "oracle") for word in shown]
