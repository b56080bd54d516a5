"""Networks on a GPU as Sluice runs them, as ONNX Runtime runs them by itself, and on one thread of a processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from benchmarks.gpu_parts.meters import costs
from benchmarks.harness import Row
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.precision import Device, Precision
from serving.common.tensors import Array
from serving.engines.execution_device import CHOICE, CUDA
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.session import session_options
from serving.graphs.quantise import in_half_precision
from tools.architectures.export import to_onnx
from tools.architectures.registry import ARCHITECTURES

SHIPS, LARGEST = ("vehicle-type-compact", "vehicle-type"), "resnet50"
"""Those that ship, and one whose weights are drawn by chance: times alone are of interest."""
NETWORKS, SMALLEST, SHORTER = (*SHIPS, LARGEST), SHIPS[0], ("vehicle-type", LARGEST)
"""Those that are run with fewer bits as well."""
BATCHES = (1, 4, 16, 64)
PROCESSOR_BATCHES = (1, 16)
COMPARED = 64

Run = Callable[[Array], Array]


def network_rows(quick: bool, budget_s: float) -> Iterator[Row]:
    """Network × way × size of batch."""
    for name in NETWORKS[:1] if quick else NETWORKS:
        model = _model(name)
        shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim[1:]]
        items = np.random.default_rng(0).random((COMPARED, *shape), np.float32)
        with device("cpu"):
            expected = np.concatenate(
                [_sluice(name, model, "fp32")(items[start : start + 8]) for start in range(0, COMPARED, 8)]
            )
        for way, open_way in _ways(name, model).items():
            with device("cpu" if way == "processor" else "auto"):
                run = open_way()
                found = np.concatenate([run(items[start : start + 16]) for start in range(0, COMPARED, 16)])
                agrees = float((found.argmax(axis=1) == expected.argmax(axis=1)).mean())
                for size in PROCESSOR_BATCHES if way == "processor" else BATCHES:
                    batch = items[:size]
                    started_s = perf_counter()
                    run(batch)
                    first_ms = 1e3 * (perf_counter() - started_s)
                    yield {
                        "what": "network",
                        "name": name,
                        "way": way,
                        "size": size,
                        **costs(partial(run, batch), budget_s).row(size),
                        "first_ms": round(first_ms, 1),
                        "agreement": round(agrees, 4),
                    }


@contextmanager
def device(wanted: Device) -> Iterator[None]:
    """Networks that are opened meanwhile run there."""
    before, CHOICE.wanted = CHOICE.wanted, wanted
    try:
        yield
    finally:
        CHOICE.wanted = before


def _ways(name: str, model: onnx.ModelProto) -> dict[str, Callable[[], Run]]:
    ways: dict[str, Callable[[], Run]] = {
        "processor": partial(_sluice, name, model, "fp32"),
        "gpu by itself": partial(_plain, model),
        "gpu fp32": partial(_sluice, name, model, "fp32"),
    }
    if name in SHORTER:
        ways |= {"gpu tf32": partial(_sluice, name, model, "tf32"), "gpu fp16": partial(_sluice, name, model, "fp16")}
    return ways


def _sluice(name: str, model: onnx.ModelProto, precision: Precision) -> Run:
    engine = OnnxRuntimeEngine(name, threads=1, precision=precision)
    engine.load([(in_half_precision(name, model) if precision == "fp16" else model).SerializeToString()])
    return lambda batch: engine.run(0, batch)[0]


def _plain(model: onnx.ModelProto) -> Run:
    """As anybody opens it: the runtime's own options."""
    session = ort.InferenceSession(model.SerializeToString(), session_options(1), providers=[CUDA])
    name = session.get_inputs()[0].name

    def run(batch: Array) -> Array:
        found: list[Any] = session.run(None, {name: batch})
        return np.asarray(found[0])

    return run


def _model(name: str) -> onnx.ModelProto:
    if name in SHIPS:
        return onnx.load(Catalogue([SHIPPED]).find(name).path)
    return to_onnx(ARCHITECTURES[name].build(1000), 224)
