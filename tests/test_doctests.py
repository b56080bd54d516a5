"""The examples in docstrings say what the code does."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

from pipelines.cli import PACKAGES
from specialization.rates import Rates, Template
from specialization.weg.adaptive import Adaptive

PROMPT = re.compile(r"^ *>>> ", re.M)
ROOT = Path(__file__).parents[1]
NAMES: dict[str, dict[str, object]] = {
    "specialization.weg.algorithm": {"Adaptive": Adaptive, "Rates": Rates, "Template": Template},
}
"""Names that the examples of a module use besides its own."""


def with_examples() -> list[str]:
    """All modules that have some."""
    files = (path for folder in (*PACKAGES, "benchmarks", "tools") for path in sorted((ROOT / folder).rglob("*.py")))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files if PROMPT.search(path.read_text())]


@pytest.mark.parametrize("module", with_examples())
def test_examples(module: str) -> None:
    found = doctest.testmod(import_module(module), extraglobs=NAMES.get(module), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
