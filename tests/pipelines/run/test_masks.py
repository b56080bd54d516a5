"""Masks in a whole run: what lies inside is gone, and everything else is as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from operators.frames.frame import Box, Region
from operators.frames.mask import kept
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query

LEFT = [[0, 0], [0.5, 0], [0.5, 1], [0, 1]]
DETECT = {"name": "detect", "task": "detect", "model": "motion", "motion": {"warmup_s": 0}}
TRACK = {"name": "track", "task": "track", "input": "detect"}


def write_clip(path: Path) -> Path:
    """Two bright squares that go up and down, one in each half of the picture."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for i in range(20):
            image = np.full((240, 320, 3), 90, np.uint8)
            image[10 * i : 10 * i + 40, 40:90] = image[200 - 10 * i : 240 - 10 * i, 230:280] = 250
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode())
    return path


def found(clip: Path, out: Path, **keys: Any) -> list[dict[str, Any]]:
    """The results of a run over the clip."""
    given = {"version": 1, "name": "test", "slo_ms": 60_000, "nodes": [DETECT, TRACK], **keys}
    wanted = Query.model_validate({**given, "streams": [{"id": "yard", "uri": str(clip)}]})
    run_query(compiled(wanted, catalogue([])), Outputs(str(out), out.with_suffix(".mp4")))
    return [json.loads(line) for line in out.read_text().splitlines()]


def boxes(results: list[dict[str, Any]]) -> list[list[tuple[float, ...]]]:
    return [[tuple(o["detection"]["bounding_box"].values()) for o in each["objects"]] for each in results]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clips") / "clip.mp4")


@pytest.mark.parametrize("kind", ["ignore", "require"])
def test_objects_inside_are_gone_and_all_others_equal(tmp_path: Path, clip: Path, kind: str) -> None:
    everything = found(clip, tmp_path / "all.jsonl")
    mask = {"streams": "ya*", kind: LEFT}
    masked = found(clip, tmp_path / "masked.jsonl", masks=[mask])
    assert len(masked) == len(everything)
    (of_query,) = (each.mask for each in Query.model_validate(_query(mask)).masks)
    expected = [[box for box in each if kept([of_query], [_region(box)])] for each in boxes(everything)]
    assert boxes(masked) == expected
    assert 15 <= sum(map(len, expected)) < sum(map(len, boxes(everything)))


def test_a_mask_of_another_stream_changes_nothing(tmp_path: Path, clip: Path) -> None:
    everything = found(clip, tmp_path / "all.jsonl")
    masked = found(clip, tmp_path / "masked.jsonl", masks=[{"streams": "gate", "ignore": LEFT}])
    assert boxes(masked) == boxes(everything)


def _query(mask: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "name": "test", "slo_ms": 1, "nodes": [DETECT], "masks": [mask]}


def _region(box: tuple[float, ...]) -> Region:
    return Region(0, "detect", Box(*box), "moving", 1.0)
