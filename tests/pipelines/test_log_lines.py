"""Which log lines a user sees."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
OURS = [name.rstrip("*") for name in PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]]

LOG = """
import logging, sys
from pipelines import cli
cli.sluice.main = lambda *_, **__: [logging.getLogger(f"{name}.part").info("from %s", name) for name in names]
names = sys.argv[1].split(",")
cli.main()
"""


def test_every_package_of_ours_is_heard_and_no_other() -> None:
    given = [sys.executable, "-c", LOG, ",".join([*OURS, "faust", "kafka"])]
    said = subprocess.run(given, capture_output=True, text=True, check=True).stderr
    assert said.splitlines() == [f"sluice: from {name}" for name in OURS]
