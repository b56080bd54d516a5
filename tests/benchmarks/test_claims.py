"""The page of claims is what the script prints, and each row rests on a CSV, a rule and a reason."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks import claims
from benchmarks.claims_parts.claim import Claim, Figure, Paper, papers
from benchmarks.claims_parts.verdict import EXACT, IMPOSSIBLE, MISSED, UNTRIED, judged, ours, table, verdict

ROOT = Path(__file__).parents[2]
CLAIMS = [claim for paper in papers() for claim in paper.claims]
EACH = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: str(claim.number))


def figure(**said: Any) -> Figure:
    made = {"what": "gain", "paper": 2.0, "csv": "mix", "column": "over_cheapest", **said}
    return msgspec.convert(made, Figure)


def test_all_claims_are_there_once_and_in_order() -> None:
    assert [claim.number for claim in CLAIMS] == list(range(1, 52))


def test_the_page_is_what_the_script_prints() -> None:
    printed = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert printed == claims.page(), "make it anew: python -m benchmarks.claims > docs/claims.md"


@EACH
def test_a_figure_is_read_from_a_csv_that_a_benchmark_of_this_name_makes(claim: Claim) -> None:
    for each in claim.figures:
        assert (ROOT / "benchmarks" / f"{each.csv}.py").is_file()
        assert each.column in table(each.csv)[0]
        ours(each)


@EACH
def test_what_was_missed_has_a_reason_and_nothing_else_has_one(claim: Claim) -> None:
    found = [judged(each, ours(each)) for each in claim.figures]
    assert bool(claim.why) == any(each in MISSED for each in found)
    assert verdict(claim) not in (EXACT, UNTRIED, IMPOSSIBLE) if found else verdict(claim) not in MISSED
    assert not (claim.impossible and (claim.figures or claim.tests))


@EACH
def test_a_test_that_is_named_exists(claim: Claim) -> None:
    for named in claim.tests:
        file, _, function = named.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("said", "value", "follows"),
    [
        ({}, 1.8, "reproduced"),
        ({}, 2.2, "reproduced"),
        ({}, 1.79, "worse"),
        ({}, 2.21, "better"),
        ({"better": "less"}, 1.79, "better"),
        ({"better": "less"}, 2.21, "worse"),
        ({"paper": [1.0, 2.0]}, 1.5, "reproduced"),
        ({"paper": [1.0, 2.0]}, 0.89, "worse"),
        ({"paper": -0.3, "better": "less", "nothing": -0.01}, -0.0002, "refuted"),
        ({"paper": -0.3, "better": "less", "nothing": -0.01}, -0.31, "reproduced"),
        ({"paper": 1.05, "nothing": 1}, 1.0, "refuted"),
        ({"paper": 1.05, "nothing": 1}, 1.01, "reproduced"),
        ({"within": 0.01}, 1.97, "worse"),
        ({"paper": [1.5, float("inf")]}, 99.0, "reproduced"),
    ],
)
def test_the_rule(said: dict[str, Any], value: float, follows: str) -> None:
    assert judged(figure(**said), value) == follows


def test_a_claim_has_the_worst_verdict_of_its_figures() -> None:
    where = {"part": "paper", "load_per_s": 10, "slo_s": 0.3, "way": "C alone"}
    good, bad = figure(paper=8, where=where), figure(paper=16, where=where)
    assert verdict(Claim(1, "", "", [good])) == "reproduced"
    assert verdict(Claim(1, "", "", [good, bad])) == "worse"
    assert verdict(Claim(1, "", "", tests=["any"])) == EXACT
    assert verdict(Claim(1, "", "", impossible="no GPU")) == IMPOSSIBLE
    assert verdict(Claim(1, "", "")) == UNTRIED


def test_figures_are_compared_group_by_group() -> None:
    paper = {"part": "paper", "slo_s": 0.3, "load_per_s": [10, 1000]}
    asked = {"column": "cost_per_s", "where": {**paper, "way": "C alone"}, "by": ["load_per_s"]}
    other = {"where": {"way": "mix"}}
    assert ours(figure(**asked, over=other, take="most")) == 8
    assert ours(figure(**asked, over=other, take="least")) == pytest.approx(32 / 22)
    assert ours(figure(**asked, minus=other, take="most")) == 14
    assert ours(figure(**asked, spared=other, take="least")) == -7


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"where": {"way": "D alone"}}, ValueError),
        ({"column": "price"}, KeyError),
        ({"csv": "none"}, FileNotFoundError),
    ],
)
def test_a_figure_that_no_csv_has_is_an_error(said: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ours(figure(**said))


@pytest.mark.parametrize("said", [{"take": "best"}, {"verdict": "better"}, {"paper": "a lot"}])
def test_a_file_with_a_fault_is_refused(said: dict[str, Any]) -> None:
    made = {"what": "", "paper": 1, "csv": "mix", "column": "x", **said}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"title": "", "claims": [{"number": 1, "section": "", "claim": "", "figures": [made]}]}, Paper)
