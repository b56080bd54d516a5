from __future__ import annotations

import threading

import numpy as np
import pytest

from serving.common.precision import Precision
from serving.engines.execution_device import CHOICE
from serving.engines.network import interrupt
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError, SluiceError
from tests.serving.engines.cut_rows import items, network


def test_bf16_is_not_offered() -> None:
    with pytest.raises(ModelError, match=r"^model 'net': ONNX Runtime does not compute in bf16; OpenVINO does$"):
        OnnxRuntimeEngine("net", threads=1, precision="bf16")


@pytest.mark.parametrize("precision", ["tf32", "fp16"])
def test_precisions_of_gpus_are_refused_without_one(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CHOICE, "wanted", "cpu")
    with pytest.raises(ModelError, match=f"^model 'net': {precision} is for GPUs, and networks run on the processor"):
        OnnxRuntimeEngine("net", threads=1, precision=precision)


def test_bound_segments_run_with_options_that_another_thread_can_use_to_end_them() -> None:
    engine, batch = OnnxRuntimeEngine("kind", threads=1), items()[:1]
    engine.load([network().SerializeToString()])
    expected = engine.run(0, batch)
    scores = [np.empty_like(each) for each in expected]
    run = engine.bound(0, batch, scores)
    with engine.one_run() as options:
        # Where it is missing the runtime throws inside of every bound run, and catches.
        assert options.get_run_config_entry("gpu_graph_id") == "0"
        run(options)
    np.testing.assert_array_equal(scores[0], expected[0])
    with engine.one_run() as options:
        interrupt(threading.current_thread())
        with pytest.raises(SluiceError, match="failed"):
            run(options)
    engine.close()
