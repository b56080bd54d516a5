"""Engines send no telemetry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_engine_leaves_no_telemetry(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    script = "from serving.engines.onnxruntime import session_options; session_options(1)"
    subprocess.run([sys.executable, "-c", script], env=environment | {"HOME": str(tmp_path)}, check=True)
    assert not list(tmp_path.rglob("*"))
