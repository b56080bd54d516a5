"""A GPU is asked for only where it can be used, and what a session was given is compared with that.

No test has a GPU: what the runtime and the driver say of one is made up, sessions are real.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import onnxruntime as ort
import pytest

from serving.engines import execution_device
from serving.engines.execution_device import CHOICE, CPU, CUDA, TENSORRT, opened, providers, use, why_no_gpu
from serving.engines.onnxruntime import OnnxRuntimeEngine, session_options
from serving.errors import BadInput, ModelError
from tests.serving.engines.cut_rows import network

Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Sets what the runtime is built for, what loads, and how many GPUs there are."""

    def be(built: tuple[str, ...] = (CPU, TENSORRT, CUDA), loads: tuple[str, ...] = (CUDA,), gpus: int = 1) -> None:
        why_no_gpu.cache_clear()
        monkeypatch.setattr(ort, "get_available_providers", lambda: [*built, "AzureExecutionProvider"])
        monkeypatch.setattr(ort, "preload_dlls", lambda: print("libcudnn.so.9 was not found"))
        monkeypatch.setattr(execution_device, "_loads", lambda provider: provider in loads)
        monkeypatch.setattr(execution_device, "_gpus", lambda: gpus)

    yield be
    why_no_gpu.cache_clear()
    CHOICE.wanted = "auto"


def names() -> list[str]:
    return [name for name, _ in providers("fp32")]


def test_accelerators_come_first_where_they_load(machine: Machine) -> None:
    """Providers that Sluice does not know, such as those that send data to a cloud, are never used."""
    machine(loads=(CUDA, TENSORRT))
    assert names() == [TENSORRT, CUDA, CPU]
    machine(loads=(CUDA,))
    assert names() == [CUDA, CPU]
    assert dict(providers("fp32"))[CUDA] == {"use_tf32": "0"}


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"built": (CPU,)}, "this ONNX Runtime is built for processors only"),
        ({"gpus": 0}, "no NVIDIA driver tells of a GPU"),
        ({"loads": ()}, "the libraries of CUDA or cuDNN that this ONNX Runtime needs are not installed"),
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


def test_where_one_does_not_open_a_network_the_next_does_with_its_options(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[list[tuple[str, dict[str, str]]]] = []
    real = ort.InferenceSession

    def session(graph: bytes, options: object, providers: list[tuple[str, dict[str, str]]], **more: object) -> object:
        tried.append(providers)
        if providers[0][0] == TENSORRT:
            raise RuntimeError("an operator that it does not know\nand more")
        return real(graph, options, providers=[CPU])

    machine(loads=(CUDA, TENSORRT))
    monkeypatch.setattr(ort, "InferenceSession", session)
    opened("kind", network().SerializeToString(), session_options(1), providers("fp32"))
    assert [each[0][0] for each in tried] == [TENSORRT, CUDA]
    assert dict(tried[-1])[CUDA] == {"use_tf32": "0"}
    assert any("does not open it: an operator that it does not know" in each for each in caplog.messages)


def test_a_network_that_no_runtime_opens_fails_as_on_the_processor(machine: Machine) -> None:
    machine()
    with pytest.raises(ModelError, match="'kind'"):
        OnnxRuntimeEngine("kind", threads=1).load([b"no network"])
