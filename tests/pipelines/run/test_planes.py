"""A run makes blue, green and red of the frames from which somebody cuts, and of no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from operators.frames.planes import Planes
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.catalogue.lookup import SHIPPED
from serving.common.tensors import Image
from tests.models import yolox_nano

DETECT = {"name": "detect", "task": "detect", "model": "yolox-nano", "when": "needed"}
TRACK = {"name": "track", "task": "track", "input": "detect"}
NAME = {"name": "kind", "task": "recognise", "input": "track", "model": "street-kind"}


@pytest.mark.parametrize("nodes", [[DETECT, TRACK], [DETECT | {"when": "always"}, TRACK], [DETECT, TRACK, NAME]])
def test_images_are_made_where_crops_are_cut(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, nodes: list[dict[str, str]]
) -> None:
    made: list[Planes] = []

    def noted(planes: Planes) -> Image:
        made.append(planes)
        return planes.scaled(planes.shape[1], planes.shape[0])

    yolox_nano(tmp_path / "models", data_dir)
    clip = {"id": "street", "uri": str(data_dir / "videos" / "street-level.mp4"), "sample": {"fps": 1}}
    query = {"version": 1, "name": "test", "slo_ms": 60_000, "streams": [clip], "nodes": nodes}
    wanted = compiled(Query.model_validate(query), catalogue([tmp_path / "models", SHIPPED]))
    monkeypatch.setattr(Planes, "bgr", property(noted))
    run_query(wanted, Outputs(str(tmp_path / "results.jsonl")))
    results = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {each["outcome"] for each in results} == {"analysed"}
    assert sum(len(each["objects"]) for each in results) > 10
    assert (len(made) > 0) == (NAME in nodes)
