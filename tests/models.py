"""Builds model directories whose networks are a few ONNX nodes, so that every output is known."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper

from serving.catalogue.lookup import SHIPPED, Catalogue, file_sha256
from serving.catalogue.public import public_model
from serving.catalogue.pull import pull
from specialization.kit.base import certain

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8


def save_graph(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    outputs: dict[str, Sequence[int | str | None]],
    shape: Sequence[int | str | None] = ("N", 3, 4, 4),
    constants: dict[str, Any] | None = None,
    dtype: int = FLOAT,
) -> None:
    """A graph with the input ``images`` and the given float outputs."""
    graph = helper.make_graph(
        list(nodes),
        "tiny",
        [helper.make_tensor_value_info("images", dtype, list(shape))],
        [helper.make_tensor_value_info(name, FLOAT, list(size)) for name, size in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def mean_graph(path: Path, batch: int | str = "N") -> None:
    """Output ``means``: N × 3, the mean of each channel."""
    node = helper.make_node("ReduceMean", ["images"], ["means"], axes=[2, 3], keepdims=0)
    save_graph(path, [node], {"means": [batch, 3]}, [batch, 3, 4, 4])


def card(directory: Path, **changes: Any) -> dict[str, Any]:
    """A classifier's card for ``net.onnx`` in the directory; ``changes`` replace keys, None removes one."""
    weights = directory / "net.onnx"
    data: dict[str, Any] = {
        "name": directory.name,
        "version": "1",
        "task": "classify",
        "file": weights.name,
        "sha256": file_sha256(weights) if weights.exists() else "0" * 64,
        "licence": "Apache-2.0",
        "source": "https://example.org",
        "input": {"width": 4, "height": 4, "colour": "bgr"},
        "classes": ["blue", "green", "red"],
        **changes,
    }
    return {key: value for key, value in data.items() if value is not None}


def write_card(directory: Path, **changes: Any) -> Path:
    """Write ``model.yaml`` beside ``net.onnx``."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.yaml").write_text(yaml.safe_dump(card(directory, **changes)), encoding="utf-8")
    return directory


def mean_model(models: Path, name: str = "means", batch: int | str = "N", **changes: Any) -> Catalogue:
    """A catalogue in ``models`` with a classifier of the dominant colour among its models."""
    directory = models / name
    directory.mkdir(parents=True, exist_ok=True)
    mean_graph(directory / "net.onnx", batch)
    write_card(directory, **changes)
    return Catalogue([models])


def relatives(models: Path, names: Sequence[str], of: str = "street-kind") -> Catalogue:
    """A catalogue of networks that differ from a shipped one, and from each other, in the last layer only."""
    original = Catalogue([SHIPPED]).find(of)
    for seed, name in enumerate(names):
        network = certain(onnx.load(original.path))  # what doubts adds follows the last layer
        last = network.graph.node[-1].input[1]
        kernel = next(each for each in network.graph.initializer if each.name in (last, f"{last}.half"))
        values = numpy_helper.to_array(kernel)
        noise = np.random.default_rng(seed).normal(scale=values.std(), size=values.shape)
        kernel.CopyFrom(numpy_helper.from_array((values + noise).astype(values.dtype), kernel.name))
        (models / name).mkdir(parents=True)
        onnx.save(network, models / name / "net.onnx")
        size = original.card.input.model_dump(mode="json")
        write_card(models / name, input=size, classes=list(original.card.classes))
    return Catalogue([models])


def yolox_nano(into: Path, data: Path) -> Catalogue:
    """A catalogue with the real detector, from the folder of sample data; its variants are not built."""
    public = public_model("yolox-nano")
    (into / public.name).mkdir(parents=True, exist_ok=True)
    shutil.copy(data / "weights" / public.file, into / public.name / public.file)
    pull(public, into)
    return Catalogue([into, SHIPPED])
