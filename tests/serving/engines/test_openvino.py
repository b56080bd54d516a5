from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serving.engines import openvino
from serving.engines.openvino import OpenVinoEngine
from serving.errors import ModelError
from tests.serving.engines.kinds import fp32


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    openvino._core.cache_clear()
    with pytest.raises(
        ModelError, match=r"^model 'net': OpenVINO is not here: pip install 'sluice-video\[openvino\]'$"
    ):
        OpenVinoEngine("net", threads=1)


def test_importing_it_reports_to_nobody_and_leaves_nothing_at_home(tmp_path: Path) -> None:
    """The package by itself sends word of every import, unless it believes to be run by a CI."""
    pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
    script = "from serving.engines.openvino import OpenVinoEngine; OpenVinoEngine('net', threads=1)"
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "TF_BUILD", "JENKINS_URL")}
    subprocess.run([sys.executable, "-c", script], env=environment | {"HOME": str(tmp_path)}, check=True)
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_a_processor_is_never_left_to_choose_the_precision(precision: openvino.Precision) -> None:
    pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
    engine = OpenVinoEngine("net", threads=1, precision=precision)
    wanted = "bf16" if precision == "bf16" else "f32"
    able = "BF16" in openvino._core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if precision == "bf16" and not able:
        with pytest.raises(ModelError, match="this processor does not compute in bf16"):
            engine.load([fp32().SerializeToString()])
        return
    engine.load([fp32().SerializeToString()])
    (segment,) = engine._segments
    assert segment._compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name() == wanted  # type: ignore[attr-defined]
