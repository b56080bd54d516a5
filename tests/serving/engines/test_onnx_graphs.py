"""Graphs that users bring to the engines that run ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from serving.engines.engine import Engine
from serving.errors import ModelError, SluiceError
from tests.models import UINT8, save_graph
from tests.serving.engines.kinds import ONNX_KINDS, Kind


@pytest.fixture(params=ONNX_KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def load(kind: Kind, tmp_path: Path, nodes: list[Any], outputs: dict[str, Any], *graph: Any) -> Engine:
    save_graph(tmp_path / "net.onnx", nodes, outputs, *graph)
    return kind.load([(tmp_path / "net.onnx").read_bytes()])


def levels(*values: float) -> np.ndarray:
    """One 3 × 4 × 4 picture per value."""
    return np.ones((len(values), 3, 4, 4), np.float32) * np.array(values, np.float32)[:, None, None, None]


def mean(source: str = "images") -> Any:
    return helper.make_node("ReduceMean", [source], ["means"], axes=[2, 3], keepdims=0)


@pytest.mark.parametrize("data", [b"", b"not a network", b"\x08\x08" * 1000], ids=["empty", "text", "noise"])
def test_what_is_no_network_is_refused_in_one_line(kind: Kind, data: bytes) -> None:
    with pytest.raises(ModelError, match=r"^model 'net' cannot be opened: .*[a-z]") as caught:
        kind.load([data])
    assert "\n" not in str(caught.value)
    assert "/src/" not in str(caught.value)


def test_the_damaged_segment_is_named(kind: Kind) -> None:
    good, _ = kind.segments(1)
    with pytest.raises(ModelError, match=r"^model 'net', segment 1 cannot be opened"):
        kind.load([good, b"not a network"])


def test_outputs_come_in_the_graphs_order(kind: Kind, tmp_path: Path) -> None:
    nodes = [mean(), helper.make_node("ReduceMax", ["images"], ["a_high"], axes=[1, 2, 3], keepdims=0)]
    engine = load(kind, tmp_path, nodes, {"means": ["N", 3], "a_high": ["N"]})
    means, high = engine.run(0, levels(4, 7))
    assert means.tolist() == [[4, 4, 4], [7, 7, 7]]
    assert high.tolist() == [4, 7]


def test_a_graph_that_takes_one_item_is_run_item_by_item(kind: Kind, tmp_path: Path) -> None:
    engine = load(kind, tmp_path, [mean()], {"means": [1, 3]}, [1, 3, 4, 4])
    assert engine.inputs[0].shape == (None, 3, 4, 4)
    (means,) = engine.run(0, levels(1, 5, 9))
    assert means[:, 0].tolist() == [1, 5, 9]
    assert engine.run(0, levels())[0].shape == (0, 3)


def test_another_fixed_batch_is_refused(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^model 'net': fixed batch of 2; export it"):
        load(kind, tmp_path, [mean()], {"means": [2, 3]}, [2, 3, 4, 4])


def test_pictures_of_any_size(kind: Kind, tmp_path: Path) -> None:
    engine = load(kind, tmp_path, [mean()], {"means": ["N", 3]}, ["N", 3, None, None])
    assert str(engine.inputs[0]) == "float32 N × 3 × any × any"
    assert engine.run(0, np.ones((2, 3, 5, 9), np.float32))[0].tolist() == [[1, 1, 1]] * 2
    assert engine.run(0, np.ones((0, 3, 5, 9), np.float32))[0].shape == (0, 3)


def test_a_graph_that_takes_bytes_is_given_bytes(kind: Kind, tmp_path: Path) -> None:
    nodes = [helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT), mean("pixels")]
    engine = load(kind, tmp_path, nodes, {"means": ["N", 3]}, ["N", 3, 4, 4], None, UINT8)
    assert engine.inputs[0].dtype == np.uint8
    assert engine.run(0, levels(7).astype(np.uint8))[0].tolist() == [[7, 7, 7]]
    with pytest.raises(ModelError, match="takes uint8 N × 3 × 4 × 4, was given float32"):
        engine.run(0, levels(7))


def test_two_inputs_are_refused(kind: Kind) -> None:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in ("a", "b", "c")]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["c"])], "g", value[:2], value[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(ModelError, match=r"^model 'net': must have one input; has 2: a, b$"):
        kind.load([model.SerializeToString()])


def test_answers_for_another_number_of_items_are_refused(kind: Kind, tmp_path: Path) -> None:
    """Such as a graph that was exported with the batch's size written into it."""
    node = helper.make_node("Reshape", ["images", "shape"], ["rows"])
    with pytest.raises(ModelError, match=r"^model 'net': output 0 is 3 × 16 for 1 items; the first axis"):
        load(kind, tmp_path, [node], {"rows": [None, 16]}, ["N", 3, 4, 4], {"shape": np.array([-1, 16])})


def test_a_network_that_fails_says_so_in_one_line(kind: Kind, tmp_path: Path) -> None:
    node = helper.make_node("Reshape", ["images", "shape"], ["rows"])
    engine = load(kind, tmp_path, [node], {"rows": [None, 32]}, ["N", 3, None, None], {"shape": np.array([-1, 32])})
    with pytest.raises(SluiceError, match=r"^model 'net' failed: ") as caught:
        engine.run(0, np.ones((1, 3, 5, 5), np.float32))
    assert "\n" not in str(caught.value)


def test_pieces_of_varying_length_are_padded_with_zeros(kind: Kind, tmp_path: Path) -> None:
    """As from graphs that suppress overlaps themselves: here the output holds the pixels above 0, flattened."""
    nodes = [
        helper.make_node("Reshape", ["images", "flat"], ["row"]),
        helper.make_node("Greater", ["row", "zero"], ["positive"]),
        helper.make_node("NonZero", ["positive"], ["places"]),
        helper.make_node("Gather", ["row", "places"], ["found"]),
        helper.make_node("Reshape", ["found", "one_row"], ["kept"]),
    ]
    constants = {"flat": np.array([-1]), "zero": np.float32(0), "one_row": np.array([1, -1])}
    engine = load(kind, tmp_path, nodes, {"kept": [1, None]}, [1, 3, 4, 4], constants)
    batch = np.zeros((2, 3, 4, 4), np.float32)
    batch[0, 0, 0, :3], batch[1, 0, 0, 0] = 5, 6
    assert engine.run(0, batch)[0].tolist() == [[5, 5, 5], [6, 0, 0]]
