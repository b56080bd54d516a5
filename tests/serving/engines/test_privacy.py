"""Engines send no telemetry, and leave the process as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
PROBE = """
import os, sys
environment = dict(os.environ)
{script}
assert environment == dict(os.environ)
assert None not in sys.modules.values()
"""


@pytest.mark.parametrize(
    "script",
    [
        "from serving.engines.session import session_options; session_options(1)",
        "import serving.graphs.quantise",
        "from serving.engines.openvino import import_openvino; import_openvino().Core()",
    ],
)
def test_an_engine_leaves_no_telemetry_and_no_trace_in_the_process(tmp_path: Path, script: str) -> None:
    subprocess.run(
        [sys.executable, "-c", PROBE.format(script=script)], env=ENVIRONMENT | {"HOME": str(tmp_path)}, check=True
    )
    assert not list(tmp_path.rglob("*"))
