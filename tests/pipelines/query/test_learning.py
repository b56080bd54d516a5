"""What learning may cost, and which nodes learn: the keys ``learning``, ``specialize`` and ``caches``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.query.check import examine
from pipelines.query.draft import load_query
from pipelines.query.nodes import RecogniseNode, learns, makes_caches, specializes, takes_exits, uses_caches
from pipelines.query.query_file import Query
from tests.pipelines.queries import DETECT, TRACK, TYPE, query, write

TEXT = """\
    version: 1
    name: q
    slo_ms: 250
    {}
    nodes:
      - {{name: detect, task: detect, model: motion}}
"""


def budget(tmp_path: Path, learning: str) -> float:
    return load_query(write(tmp_path / "q.yaml", TEXT.format(learning))).learning.budget


@pytest.mark.parametrize(
    ("written", "share"),
    [("5%", 0.05), ("2.5 %", 0.025), ("100%", 1.0), ("0%", 0.0), ("0", 0.0), ("0.03", 0.03), ("1", 1.0)],
)
def test_a_budget_is_a_share_or_a_percentage(tmp_path: Path, written: str, share: float) -> None:
    assert budget(tmp_path, f"learning: {{budget: {written}}}") == share


@pytest.mark.parametrize("learning", ["", "learning: {}"])
def test_a_twentieth_is_the_default(tmp_path: Path, learning: str) -> None:
    assert budget(tmp_path, learning) == 0.05


@pytest.mark.parametrize("written", ["5", "-1%", "101%", "true", "'5'", "'%'", ".nan", "5%%", "null", "[5%]", "a lot"])
def test_what_is_no_share_is_refused_in_one_line(tmp_path: Path, written: str) -> None:
    path = write(tmp_path / "q.yaml", TEXT.format(f"learning: {{budget: {written}}}"))
    (problem,) = examine(path).problems
    assert str(problem).startswith("learning.budget: is ")
    assert str(problem).endswith(": give a share of the processor time, 0% to 100% or 0 to 1")


def test_another_key_is_refused(tmp_path: Path) -> None:
    (problem,) = examine(write(tmp_path / "q.yaml", TEXT.format("learning: {bugdet: 5%}"))).problems
    assert str(problem) == "learning.bugdet: unknown key; did you mean 'budget'? allowed: budget"


def node(**keys: Any) -> RecogniseNode:
    return RecogniseNode.model_validate(TYPE | keys)


@pytest.mark.parametrize("written", ["auto", "yes", 2, None, "release"])
def test_specialize_is_auto_true_or_false(tmp_path: Path, written: object) -> None:
    text = f"- {{name: type, task: recognise, input: detect, model: vehicle-type, specialize: {written}}}"
    path = write(tmp_path / "q.yaml", TEXT.format("") + f"      {text}\n")
    if written in ("auto", "yes"):  # YAML reads yes as true
        assert examine(path).problems == ()
    else:
        (problem,) = examine(path).problems
        assert str(problem).startswith("nodes[1].specialize: is ")
        assert str(problem).endswith("; allowed: auto, true, false")


def test_by_default_both_are_auto_exits_of_files_are_used_and_those_of_one_stream_are_made() -> None:
    assert (node().specialize, node().caches) == ("auto", "auto")
    assert specializes(node())
    assert uses_caches(node())
    assert not makes_caches(node())
    assert learns(node())
    assert takes_exits(node())


def test_what_is_asked_for_learns() -> None:
    assert specializes(node(specialize=True))
    assert not makes_caches(node(specialize=True))
    assert makes_caches(node(caches=True))
    assert learns(node(specialize=False, caches=True))
    assert takes_exits(node(specialize=False))
    assert not learns(node(specialize=False))
    assert not takes_exits(node(specialize=False, caches=False))


def test_a_gallery_goes_with_auto(tmp_path: Path) -> None:
    assert not uses_caches(node(gallery=tmp_path, caches="auto"))


def with_budget(share: float) -> Query:
    return query(DETECT, TRACK, TYPE | {"specialize": True}, learning={"budget": share})


def test_without_a_budget_nothing_learns() -> None:
    assert with_budget(0.01).learns
    assert not with_budget(0.0).learns
    assert not with_budget(0.0).takes_exits
