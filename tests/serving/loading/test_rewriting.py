"""Networks as they are run: simpler, and of other shapes, where the numbers are the same."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from serving.catalogue.lookup import Catalogue, read_weights
from serving.errors import ModelError
from serving.graphs.surgery.sizes import Grids, Size
from serving.loading.proofs import read
from serving.loading.rewriting import SIMPLER, rewritten
from serving.variants.artefacts import ResolvedModel
from serving.variants.variant import reference
from tests.models import write_card
from tests.serving.graphs.onnx_graphs import run
from tests.serving.graphs.surgery import detectors
from tests.serving.graphs.surgery.detectors import CLASSES, VALUES, Sketch, anchored, detector, distributed

YOLOX = {"kind": "yolox", "strides": [8, 16, 32]}
SIZE = {"width": 96, "height": 96, "resize": "letterbox"}


def source(folder: Path, model: onnx.ModelProto, shape: tuple[int, int] | None = None, **card: Any) -> ResolvedModel:
    """The network in a folder of models, as it would be opened."""
    directory = folder / "models" / "net"
    directory.mkdir(parents=True, exist_ok=True)
    onnx.save(model, directory / "net.onnx")
    classes = [f"class{number}" for number in range(CLASSES)]
    write_card(directory, **{"task": "detect", "classes": classes, "input": SIZE, "decoding": YOLOX, **card})
    entry = Catalogue([folder / "models"]).find("net")
    return ResolvedModel("net", entry, reference("net"), entry.path, directory=folder / "cache", shape=shape)


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_a_network_without_anything_to_take_away_is_left_as_it_is(tmp_path: Path) -> None:
    net = Sketch()
    model = net.model(net.conv("images", (3, 4)))
    assert rewritten(model, source(tmp_path, model)) is model
    assert not (tmp_path / "cache").exists()


def test_slices_and_pools_go_where_the_numbers_stay(tmp_path: Path) -> None:
    model = detector()
    changed = rewritten(model, source(tmp_path, model))
    assert "Slice" in operators(model)
    assert "Slice" not in operators(changed)
    found = read(tmp_path / "cache", reference("net")).found[SIMPLER]
    assert found.difference is not None
    assert found.difference < 1e-5


def test_a_simpler_network_that_says_something_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(
        "serving.graphs.surgery.layers.widened", lambda weights, firsts: np.ones((16, 3, 6, 6), np.float32)
    )
    model = detector()
    assert rewritten(model, source(tmp_path, model)) is model
    assert "net is run with all its operators: its numbers differ by" in caplog.text


def test_a_graph_that_no_change_can_read_is_run_as_it_is(tmp_path: Path) -> None:
    model = detector()
    wrong = next(node for node in model.graph.node if node.op_type == "Conv")
    del wrong.input[1:]
    assert rewritten(model, source(tmp_path, model)) is model


@pytest.mark.parametrize("kind", [{}, {"wide": "written"}, {"grids": True}], ids=str)
def test_a_network_is_opened_for_another_shape(tmp_path: Path, kind: dict[str, Any]) -> None:
    model = detector(**kind)
    flat = rewritten(model, source(tmp_path, model, (96, 64)))
    assert run(flat, np.zeros((1, 3, 64, 96), np.float32)).shape == (1, 96 + 24 + 6, VALUES)
    assert "Slice" not in operators(flat)
    assert "96x64" in read(tmp_path / "cache", reference("net")).found


@pytest.mark.parametrize("shape", [(96, 64), (64, 96), (96, 32)])
@pytest.mark.parametrize(("made", "boxes"), [(anchored, 3), (distributed, 1)])
def test_what_other_exporters_write_is_opened_for_another_shape_too(
    tmp_path: Path, made: Callable[[], onnx.ModelProto], boxes: int, shape: tuple[int, int]
) -> None:
    model = made()
    flat = rewritten(model, source(tmp_path, model, shape, decoding={"kind": "yolo"}))
    said = run(flat, np.zeros((1, 3, shape[1], shape[0]), np.float32))
    assert boxes * Grids((8, 16, 32), 1).cells(Size(*shape)) in said.shape


def test_a_network_is_opened_for_a_larger_shape_where_nothing_is_stored_for_each_cell(tmp_path: Path) -> None:
    model = detector(wide="written")
    wide = rewritten(model, source(tmp_path, model, (160, 96)))
    assert run(wide, np.zeros((1, 3, 96, 160), np.float32)).shape == (1, 240 + 60 + 15, VALUES)
    model = detector(grids=True)
    with pytest.raises(ModelError, match="a larger picture has others"):
        rewritten(model, source(tmp_path, model, (160, 96)))


def test_what_hears_of_the_whole_picture_is_refused_and_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = detector(glance=True)
    with pytest.raises(ModelError, match="its numbers differ by"):
        rewritten(model, source(tmp_path, model, (96, 64)))
    monkeypatch.delattr("serving.loading.rewriting._outputs")
    with pytest.raises(ModelError, match="its numbers differ by"):
        rewritten(model, source(tmp_path, model, (96, 64)))


def test_cells_in_another_order_than_the_card_says_are_refused(tmp_path: Path) -> None:
    model = detector()
    join = next(node for node in reversed(model.graph.node) if node.op_type == "Concat")
    names = list(join.input)
    join.input[:] = names[::-1]
    with pytest.raises(ModelError, match="its numbers differ by"):
        rewritten(model, source(tmp_path, model, (96, 64)))


def test_what_says_as_much_of_every_picture_is_refused(tmp_path: Path) -> None:
    net = Sketch()
    model = net.model(net.node("GlobalAveragePool", net.conv("images", (3, VALUES))))
    with pytest.raises(ModelError, match="does not follow the size of the picture"):
        rewritten(model, source(tmp_path, model, (96, 64), decoding={"kind": "yolo"}))


@pytest.mark.parametrize(
    "target", [[1 << 40, 1 << 40, -1], [-5, 3], [0, 0, 0, 0, 0, 7], [1, 3, 9216]], ids=["vast", "odd", "none", "square"]
)
def test_a_hostile_graph_is_refused_by_one_clear_line(tmp_path: Path, target: list[int]) -> None:
    net = Sketch()
    model = net.model(net.node("Reshape", "images", net.weight([1, 3, 9216])))
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(target), "w0"))
    with pytest.raises(ModelError) as caught:
        rewritten(model, source(tmp_path, model, (96, 64)))
    assert "\n" not in str(caught.value)


def test_maps_of_a_grid_are_compared_too(tmp_path: Path) -> None:
    net = Sketch()
    half = net.conv("images", (3, 4), strides=[2, 2])
    model = net.model(net.conv(half, (4, 6), strides=[2, 2]))
    flat = rewritten(model, source(tmp_path, model, (64, 96), decoding={"kind": "centerface"}))
    assert run(flat, np.zeros((1, 3, 96, 64), np.float32)).shape == (1, 6, 24, 16)


def test_an_open_size_is_closed(tmp_path: Path) -> None:
    model = detectors.detector()
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis in (2, 3):
        dims[axis].Clear()
    given = source(tmp_path, model, (96, 64))
    flat = rewritten(read_weights(given.path, given.whole_card), given)
    assert [each.dim_value for each in flat.graph.input[0].type.tensor_type.shape.dim] == [1, 3, 64, 96]
