"""What an extra brings is what the line about it says."""

from __future__ import annotations

import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement

from pipelines.process.extras import EXTRAS, need, remedy
from serving.errors import BadInput
from tests.doc_pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_the_modules_that_are_told_of_it_and_no_others(extra: str) -> None:
    brought = {Requirement(line).name.replace("-", "_") for line in PROJECT["optional-dependencies"][extra]}
    assert {packages_distributions()[module][0].replace("-", "_") for module in EXTRAS[extra]} == brought


def test_all_is_all_but_what_replaces_a_requirement() -> None:
    (line,) = PROJECT["optional-dependencies"]["all"]
    assert Requirement(line).extras == {*PROJECT["optional-dependencies"]} - {"all", "gpu", "dev"}
    assert {*EXTRAS} < Requirement(line).extras


def test_a_module_of_an_extra_is_told_with_what_to_do_and_another_is_not() -> None:
    assert remedy("kafka.admin") == "kafka is not installed: pip install 'sluice-video[kafka]'"
    assert remedy("pipelines.nowhere") is None
    assert remedy(None) is None
    need("json")
    with pytest.raises(BadInput, match="nowhere is not installed"):
        need("nowhere")
