"""Galleries whose embedder and detector a backend runs: who is who is decided here, as it is with networks here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.backend_process import backend_process
from tests.pipelines.commands.test_check_galleries import PICTURES, enrolled, faces, frames, models
from tests.real.process import Sluice

pytestmark = pytest.mark.data
__all__ = ["models"]

QUERY = """\
version: 1
name: faces
slo_ms: 60000
backends: {gpu: {url: "grpc://ADDRESS"}}
streams: [{id: album, uri: frames}]
nodes:
  - {name: detect, task: detect, model: ultraface ON}
  - {name: track, task: track, input: "detect[label == face]"}
  - {name: who, task: recognise, input: "track[area >= 0.001]", model: faces ON, gallery: people, answer: look}
"""


def names(folder: Path, name: str, query: str, *options: object) -> list[list[tuple[str, float, str | None]]]:
    """For each frame the names that a run gives, how sure it is, and the backend that has looked."""
    (folder / f"{name}.yaml").write_text(query)
    with Sluice(folder, "run", f"{name}.yaml", "--out", f"{name}.jsonl", *options) as run:
        assert run.wait() == 0, run.errors
    lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    answers = ([each["attributes"][0] for each in line["objects"] if each["attributes"]] for line in lines)
    return [[(each["label"], each["confidence"], each["model"].get("backend")) for each in line] for line in answers]


async def test_a_gallery_knows_the_same_people_wherever_its_networks_are(
    tmp_path: Path, data_dir: Path, models: Path
) -> None:
    found = await faces(models, data_dir)
    enrolled(tmp_path, found, 0.4)
    frames(tmp_path, found)
    here = names(tmp_path, "here", QUERY.replace(" ON", "").replace("ADDRESS", "127.0.0.1:9"), "--models", models)
    right = [name in {label for label, *_ in each} for name, each in zip(PICTURES, here, strict=True)]
    assert right.count(True) >= 5
    with backend_process(tmp_path / "backend", "--models", models) as backend:
        query = QUERY.replace("ADDRESS", backend.grpc).replace("ON", "on gpu")
        known = names(tmp_path, "known", query, "--models", models)
        unknown = names(tmp_path, "unknown", query)  # the cards come from the backend
    wanted = [[(label, confidence, "gpu") for label, confidence, _ in each] for each in here]
    assert known == wanted
    assert unknown == wanted
