"""The examples in docstrings say what the code does."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from specialization.rates import Rates, Template
from specialization.weg.adaptive import Adaptive

NAMES: dict[str, dict[str, object]] = {
    "cache_adapt.audit.audit": {},
    "operators.audits.streams": {},
    "pipelines.report.percentiles": {},
    "serving.common.retrying": {},
    "serving.scheduling.estimates": {},
    "sluice.query": {},
    "specialization.weg.algorithm": {"Adaptive": Adaptive, "Rates": Rates, "Template": Template},
}
"""Modules with examples, and the names that their examples use besides their own."""


@pytest.mark.parametrize("module", NAMES)
def test_examples(module: str) -> None:
    found = doctest.testmod(import_module(module), extraglobs=NAMES[module], optionflags=doctest.ELLIPSIS)
    assert found.attempted > 1
    assert found.failed == 0
