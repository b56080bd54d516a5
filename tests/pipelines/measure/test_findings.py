"""What a machine lacks is named with what to do; what it has is not complained of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.measure.findings import CODECS, GPU_INSTALL, Machine, MachineFinding, findings
from pipelines.measure.machine import this_machine
from serving.catalogue.lookup import Catalogue
from serving.variants.profiles import processor
from tests.models import mean_model, write_card

WHOLE = Machine(
    processor="Xeon",
    cores=8,
    memory_bytes=16 << 30,
    flags=frozenset({"avx512_bf16", "avx512_vnni"}),
    versions={"onnxruntime": "1.31.1", "openvino": "2026.4"},
    gpu=None,
    why_not_on_gpu=None,
    codecs=frozenset(CODECS),
    models=3,
    faulty=(),
    broker="kafka://a:9092",
    refusal=None,
    absent=(),
)


def lacking(machine: Machine) -> list[MachineFinding]:
    return [each for each in findings(machine) if each.state != "ok"]


def test_a_machine_that_has_all_lacks_nothing() -> None:
    assert lacking(WHOLE) == []
    (precisions,) = [each for each in findings(WHOLE) if each.what == "precisions"]
    assert precisions.said == "fast in hardware: fp32, bf16, int8"


@pytest.mark.parametrize(
    ("change", "what", "state", "remedy"),
    [
        ({"versions": {"openvino": "1"}}, "ONNX Runtime", "missing", "pip install onnxruntime"),
        ({"versions": {"onnxruntime-gpu": "1"}}, "OpenVINO", "note", "pip install 'sluice-video[openvino]'"),
        ({"gpu": "H200", "why_not_on_gpu": "it is busy"}, "GPU", "missing", GPU_INSTALL),
        ({"codecs": frozenset({"h264"})}, "decoders", "missing", "pip install --force-reinstall av"),
        ({"faulty": ("a: no card", "b: no card")}, "models", "missing", "sluice models verify"),
        ({"broker": None}, "broker", "note", "export SLUICE_BROKER=kafka://HOST:9092"),
        ({"refusal": "nothing listens"}, "broker", "missing", "see that it runs: docs/deploy.md"),
        ({"memory_bytes": 1 << 30}, "machine", "note", "bound what is kept: see docs/memory.md"),
        ({"flags": frozenset()}, "precisions", "note", ""),
        ({"absent": ("kafka", "mqtt")}, "extras", "note", "pip install 'sluice-video[kafka,mqtt]'"),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(
    change: dict[str, object], what: str, state: str, remedy: str
) -> None:
    (found,) = lacking(replace(WHOLE, **change))  # type: ignore[arg-type]
    assert (found.what, found.state, found.remedy) == (what, state, remedy)
    assert "\n" not in found.said


def test_a_gpu_that_can_be_used_is_well() -> None:
    assert lacking(replace(WHOLE, gpu="H200")) == []


def test_this_machine_is_looked_at(tmp_path: Path) -> None:
    mean_model(tmp_path, "colours")
    write_card(tmp_path / "broken", licence=None)
    found = this_machine(Catalogue([tmp_path]), "kafka://a:9092", "nothing listens")
    assert found.cores >= 1
    assert found.memory_bytes > 1 << 28
    assert found.versions["onnxruntime"]
    assert "h264" in found.codecs
    assert found.models == 1
    assert "licence" in found.faulty[0]
    assert (found.broker, found.refusal) == ("kafka://a:9092", "nothing listens")


def test_a_processor_is_read_from_the_file_that_linux_has(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("model name\t: Xeon\nflags\t\t: sse avx_vnni\n\n")
    assert processor(tmp_path / "cpuinfo") == ("Xeon", frozenset({"sse", "avx_vnni"}))
    assert processor(tmp_path / "none")[1] == frozenset()
