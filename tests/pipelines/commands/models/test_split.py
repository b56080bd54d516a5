from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import helper

from pipelines.commands.models import command, split
from serving.errors import BadInput, ModelError
from tests.models import save_graph, write_card
from tests.serving.graphs.support import run, run_segments


@pytest.fixture(autouse=True)
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SLUICE_MODELS", raising=False)
    monkeypatch.setattr(split, "BUDGET_S", 0.01)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A directory with the model ``layers``: three convolutions; ``size`` leaves its input's size open."""
    save_layers(tmp_path / "m" / "layers", ("N", 3, 4, 4))
    return tmp_path / "m"


def save_layers(directory: Path, shape: tuple[int | str, ...]) -> None:
    directory.mkdir(parents=True)
    kernel = np.random.default_rng(0).standard_normal((3, 3, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["images", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["c"]),
        helper.make_node("Conv", ["c", "w"], ["d"]),
        helper.make_node("ReduceMean", ["d"], ["means"], axes=[2, 3], keepdims=0),
    ]
    save_graph(directory / "net.onnx", nodes, {"means": ["N", 3]}, shape, {"w": kernel})
    write_card(directory)


def invoke(*arguments: object) -> str:
    """The output of ``sluice models split …``; raises what it raises."""
    words = ["split", *(str(each) for each in arguments)]
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def report(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(*arguments, "--json"))
    return found


def test_cut_points_with_work_and_latency_before_them(models: Path) -> None:
    found = report("layers", "--models", models)
    assert (found["model"], found["files"]) == ("layers", [])
    assert [(each["tensor"], each["shape"]) for each in found["cut_points"]] == [
        ("b", [None, 3, 4, 4]),
        ("c", [None, 3, 4, 4]),
    ]
    assert [each["multiply_adds"] for each in found["cut_points"]] == [144, 288]
    assert [each["share"] for each in found["cut_points"]] == [0.3333, 0.6667]
    first, second = (each["latency_share"] for each in found["cut_points"])
    assert 0 < first < second < 1
    assert found["latency_ms"] > 0


def test_a_table_for_people(models: Path) -> None:
    lines = invoke("layers", "--models", models).splitlines()
    assert lines[0].split() == ["tensor", "shape", "M", "multiply-adds", "share", "latency"]
    assert lines[1].split()[:10] == ["b", "N", "×", "3", "×", "4", "×", "4", "0.0", "33.3%"]
    assert "in 3 segments" in lines[-1]


def test_every_cut_vertex_where_asked(models: Path) -> None:
    found = report("layers", "--models", models, "--all")
    assert [each["tensor"] for each in found["cut_points"]] == ["a", "b", "c", "d"]


def test_segments_are_written(models: Path, tmp_path: Path) -> None:
    file = models / "layers" / "net.onnx"
    found = report(file, "--at", "a", "--at", "c", "--into", tmp_path / "new" / "pieces")
    assert [each["tensor"] for each in found["cut_points"]] == ["a", "c"]
    assert [Path(each).name for each in found["files"]] == ["net-0.onnx", "net-1.onnx", "net-2.onnx"]
    batch = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)
    segments = [onnx.load(each) for each in found["files"]]
    assert np.allclose(run_segments(segments, batch)[0], run(onnx.load(file), batch)[0], atol=1e-5)
    lines = invoke(file, "--at", "a", "--into", tmp_path).splitlines()
    assert [Path(line).name for line in lines[-2:]] == ["net-0.onnx", "net-1.onnx"]


def test_the_card_says_what_size_the_graph_leaves_open(tmp_path: Path) -> None:
    save_layers(tmp_path / "open", ("N", 3, "H", "W"))
    found = report("open", "--models", tmp_path)
    assert [each["multiply_adds"] for each in found["cut_points"]] == [144, 288]
    with pytest.raises(ModelError, match="'net' takes float32 N × 3 × any × any: export it with a fixed size"):
        invoke(tmp_path / "open" / "net.onnx")


def test_bad_input_says_what_to_change(models: Path, tmp_path: Path) -> None:
    at = ("--models", models)
    with pytest.raises(ModelError, match="unknown model 'layer'; did you mean 'layers'"):
        invoke("layer", *at)
    with pytest.raises(ModelError, match="cannot cut at 'e': there is no such tensor; allowed: a, b, c, d"):
        invoke("layers", *at, "--at", "e")
    with pytest.raises(ModelError, match="the data pass 'a' first"):
        invoke("layers", *at, "--at", "b", "--at", "a")
    with pytest.raises(BadInput, match="name the cuts with --at"):
        invoke("layers", *at, "--into", tmp_path)
    (tmp_path / "broken.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match=r"broken\.onnx: cannot be opened"):
        invoke(tmp_path / "broken.onnx")
    with pytest.raises(BadInput, match=r"broken\.onnx: cannot be written"):
        invoke("layers", *at, "--at", "a", "--into", tmp_path / "broken.onnx")
