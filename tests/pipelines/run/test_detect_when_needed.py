"""``when: needed`` in a whole run, with a real detector on a real clip."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.catalogue.public import public_model
from serving.catalogue.pull import pull

DETECT = {"name": "detect", "task": "detect", "model": "yolox-nano", "labels": ["car", "person"]}
TRACK = {"name": "track", "task": "track", "input": "detect"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Path:
    """A folder of models with the detector in it."""
    folder, public = tmp_path_factory.mktemp("models"), public_model("yolox-nano")
    (folder / "yolox-nano").mkdir()
    shutil.copy(data_dir / "weights" / public.file, folder / "yolox-nano" / public.file)
    pull(public, folder)
    return folder


def found(out: Path, models: Path, clip: Path, when: str, **keys: Any) -> list[dict[str, Any]]:
    """The results of a run over the clip."""
    given = {"version": 1, "name": "test", "slo_ms": 60_000, "nodes": [DETECT | {"when": when}, TRACK], **keys}
    wanted = Query.model_validate({**given, "streams": [{"id": "park", "uri": str(clip), "sample": {"fps": 4}}]})
    run_query(compiled(wanted, catalogue([models])), Outputs(str(out), report=out.with_suffix(".json")))
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_with_auto_every_detection_says_how_much_it_was_shown_and_the_report_why(
    tmp_path: Path, models: Path, data_dir: Path
) -> None:
    nodes = [DETECT | {"when": "needed", "detail": "auto"}, TRACK]
    clip = data_dir / "videos" / "car-detection.mp4"
    results = found(tmp_path / "auto.jsonl", models, clip, "needed", nodes=nodes)
    shown = [each["plan"]["nodes"]["detect"]["detail"] for each in results]
    assert shown[0] == 416
    assert set(shown) <= {416, 544, 640, 768}
    (plan,) = json.loads((tmp_path / "auto.json").read_text())["audits"]
    assert plan["detail"]["widest"] == 768
    assert 0 < plan["detail"]["cost"] <= plan["detail"]["most_cost"] == 1.0
    assert plan["detail"]["reason"]


def sure(result: dict[str, Any]) -> int:
    """Number of the objects that do not come and go by themselves."""
    return sum(each["detection"]["confidence"] >= 0.45 for each in result["objects"])


def test_fewer_frames_are_detected_every_object_says_when_and_the_report_how_many(
    tmp_path: Path, models: Path, data_dir: Path
) -> None:
    clip = data_dir / "videos" / "car-detection.mp4"
    mask = {"streams": "park", "ignore": [[0, 0], [1, 0], [1, 0.05], [0, 0.05]]}
    needed = found(tmp_path / "needed.jsonl", models, clip, "needed", masks=[mask])
    assert {each["outcome"] for each in needed} == {"analysed"}
    (plan,) = json.loads((tmp_path / "needed.json").read_text())["audits"]
    assert (plan["kind"], plan["answers"]) == ("propagated", len(needed))
    assert 0.1 < plan["shortcut_share"] < 0.9
    moved = [o["detection"] for each in needed for o in each["objects"] if "provenance" in o["detection"]]
    assert moved
    assert all(0 < detection["age_ms"] <= 2000 for detection in moved)

    always = found(tmp_path / "always.jsonl", models, clip, "always", masks=[mask])
    counts = [[sure(each) for each in results] for results in (needed, always)]
    assert sum(one != other for one, other in zip(*counts, strict=True)) <= 0.03 * len(needed)
    assert "looks 0.5 s ahead" in plan["pace"]
    assert "provenance" not in json.dumps([each["objects"] for each in always])
