"""Networks that do not return in time, as real ONNX files: a loop without end, and one that takes long to open."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serving.catalogue.lookup import Catalogue
from tests.models import write_card

FLOAT = TensorProto.FLOAT
SIZE = {"width": 4, "height": 4, "colour": "bgr", "scale": 1 / 255}
BRIGHT = 0.5
"""A looping network returns at once from darker batches, so that it can be loaded."""


TRIPS = 10_000_000
"""A loop in the process of the tests ends after some twenty seconds, so that it does not take a core for ever."""


def looping_model(
    models: Path, name: str = "endless", above: float = BRIGHT, trips: int = np.iinfo(np.int64).max
) -> Catalogue:
    """A classifier by the mean colour that loops ``trips`` times on a batch whose mean is above a bound; below 0: on
    any.
    """
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Identity", ["value"], ["same"])],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value", FLOAT, ["N", 3]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("same", FLOAT, ["N", 3]),
        ],
    )
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["brightness"], keepdims=0),
        helper.make_node("Greater", ["brightness", "bound"], ["bright"]),
        helper.make_node("ReduceMean", ["images"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("Loop", ["trips", "bright", "means"], ["scores"], body=body),
    ]
    constants = {"bound": np.array(above, np.float32), "trips": np.array(trips, np.int64)}
    return _saved(models / name, nodes, constants)


def slow_to_open_model(models: Path, name: str = "slow", products: int = 40) -> Catalogue:
    """A small file; opening it takes long, because the runtime multiplies large constant matrices then."""
    names = ["wide", *(f"product{place}" for place in range(products))]
    nodes = [helper.make_node("ConstantOfShape", ["size"], ["wide"])]
    nodes += [helper.make_node("MatMul", [a, "wide"], [b]) for a, b in pairwise(names)]
    nodes += [
        helper.make_node("ReduceMean", [names[-1]], ["zero"], keepdims=0),
        helper.make_node("ReduceMean", ["images"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("Add", ["means", "zero"], ["scores"]),
    ]
    return _saved(models / name, nodes, {"size": np.array([2500, 2500], np.int64)})


def _saved(directory: Path, nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray]) -> Catalogue:
    graph = helper.make_graph(
        nodes,
        directory.name,
        [helper.make_tensor_value_info("images", FLOAT, ["N", 3, 4, 4])],
        [helper.make_tensor_value_info("scores", FLOAT, ["N", 3])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    directory.mkdir(parents=True)
    onnx.save(model, directory / "net.onnx")
    write_card(directory, input=SIZE)
    return Catalogue([directory.parent])
