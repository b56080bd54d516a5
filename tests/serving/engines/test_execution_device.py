"""A GPU is asked for only where it can be used, and what a session was given is compared with that.

No test has a GPU: what the runtime and the driver say of one is made up, sessions are real.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import onnxruntime as ort
import pytest

from serving.engines import execution_device
from serving.engines.execution_device import (
    CHOICE,
    CPU,
    CUDA,
    cost_s,
    free_bytes,
    gpu_name,
    max_batch,
    opened,
    providers,
    use,
    used_bytes,
    why_no_gpu,
)
from serving.engines.gpu_driver import GpuDriver
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.session import session_options
from serving.errors import BadInput, ModelError, SluiceError
from tests.serving.engines.cut_rows import network

Machine = Callable[..., None]


class Library:
    """Stands for NVIDIA's driver, with 3 of 8 GiB free."""

    def __init__(self, fails: int = 0) -> None:
        self._fails = fails

    def __getattr__(self, function: str) -> Callable[..., int]:
        return lambda *_: self._fails

    def cuDeviceGetName(self, text: Any, *_: object) -> int:
        text.value = b"Acme 9"
        return self._fails

    def cuMemGetInfo_v2(self, free: Any, whole: Any) -> int:
        free._obj.value, whole._obj.value = 3 << 30, 8 << 30
        return self._fails


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Sets what the runtime is built for, what loads, and how many GPUs there are."""

    def be(built: tuple[str, ...] = (CPU, CUDA), loads: bool = True, gpus: int = 1) -> None:
        why_no_gpu.cache_clear()
        driver = GpuDriver(Library(), gpus) if gpus else None
        monkeypatch.setattr(
            ort, "get_available_providers", lambda: ["TensorrtExecutionProvider", *built, "AzureExecutionProvider"]
        )
        monkeypatch.setattr(ort, "preload_dlls", lambda: print("libcudnn.so.9 was not found"))
        monkeypatch.setattr(execution_device, "_cuda_loads", lambda: loads)
        monkeypatch.setattr(execution_device, "gpu_driver", lambda: driver)

    yield be
    why_no_gpu.cache_clear()
    CHOICE.wanted, CHOICE.index = "auto", 0


def names() -> list[str]:
    return [name for name, _ in providers("fp32")]


def test_a_gpu_comes_first_and_keeps_what_is_computed_exact(machine: Machine) -> None:
    """Providers that Sluice does not know, such as those that send data to a cloud, are never used."""
    machine()
    assert names() == [CUDA, CPU]
    (_, options), _ = providers("fp32")
    assert (options["use_tf32"], options["device_id"]) == ("0", "0")
    assert dict(providers("tf32"))[CUDA]["use_tf32"] == "1"
    assert (max_batch(), gpu_name(), free_bytes(), used_bytes()) == (64, "Acme 9", 3 << 30, 5 << 30)
    use("cpu")
    assert (max_batch(), gpu_name(), free_bytes(), used_bytes()) == (16, None, None, None)


def test_one_of_several_gpus_can_be_chosen(machine: Machine) -> None:
    machine(gpus=2)
    use("cuda", 1)
    assert dict(providers("fp32"))[CUDA]["device_id"] == "1"
    with pytest.raises(BadInput, match=r"^SLUICE_DEVICE is cuda:2, but there are 2 GPUs$"):
        use("cuda", 2)


def test_networks_cost_seconds_of_what_runs_them(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine()
    monkeypatch.setattr("time.perf_counter", lambda: 7.0)
    assert cost_s(lambda: 3.0) == 7.0
    use("cpu")
    assert cost_s(lambda: 3.0) == 3.0


def test_what_the_driver_refuses_is_an_error() -> None:
    with pytest.raises(SluiceError, match="the NVIDIA driver's cuDeviceGet failed with error 101"):
        GpuDriver(Library(fails=101), 1).used_bytes(0)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"built": (CPU,)}, "this ONNX Runtime is built for processors only"),
        ({"gpus": 0}, "no NVIDIA driver tells of a GPU"),
        ({"loads": False}, "the libraries of CUDA or cuDNN that this ONNX Runtime needs are not installed"),
    ],
)
def test_what_cannot_be_loaded_is_not_asked_for_and_refused_where_it_is_demanded(
    there: dict[str, object], why: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(**there)
    assert names() == [CPU]
    with pytest.raises(BadInput, match=f"^SLUICE_DEVICE is cuda, but {why}: `sluice doctor` says what helps$"):
        use("cuda")
    assert capsys.readouterr() == ("", ""), "results may go to standard output"


def test_the_processor_can_be_demanded(machine: Machine) -> None:
    machine()
    use("cpu")
    assert names() == [CPU]
    use("cuda")
    assert names() == [CUDA, CPU]


@pytest.mark.skipif(CUDA in ort.get_available_providers(), reason="this runtime has CUDA, and gets it")
def test_a_session_that_does_not_get_what_it_asked_for_says_so(
    machine: Machine, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """This runtime has no CUDA: a real session falls back, as one does whose GPU is full."""
    machine()
    engine = OnnxRuntimeEngine("kind", threads=1)
    with caplog.at_level(logging.WARNING):
        engine.load([network().SerializeToString()])
    assert any(f"model kind: ONNX Runtime runs it by {CPU}, not by {CUDA}" in each for each in caplog.messages)
    engine.close()
    use("cuda")
    with pytest.raises(ModelError, match="SLUICE_DEVICE is cuda, but ONNX Runtime runs it on the processor"):
        OnnxRuntimeEngine("kind", threads=1).load([network().SerializeToString()])
    assert capsys.readouterr().out == ""


def test_where_a_gpu_does_not_open_a_network_the_processor_does(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = ort.InferenceSession

    def session(graph: bytes, options: object, providers: list[tuple[str, dict[str, str]]], **more: object) -> object:
        if providers[0][0] == CUDA:
            raise RuntimeError("an operator that it does not know\nand more")
        return real(graph, options, providers=[CPU])

    machine()
    monkeypatch.setattr(ort, "InferenceSession", session)
    given = opened("kind", network().SerializeToString(), session_options(1), providers("fp32"))
    assert given.get_providers() == [CPU]
    assert any("does not open it: an operator that it does not know" in each for each in caplog.messages)


def test_a_network_that_no_runtime_opens_fails_as_on_the_processor(machine: Machine) -> None:
    machine()
    with pytest.raises(ModelError, match="'kind'"):
        OnnxRuntimeEngine("kind", threads=1).load([b"no network"])
