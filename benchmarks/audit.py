"""How many objects a shortcut needs to prove itself, and what a bad one costs: a simulation, no networks.

A stream of objects, of which a fixed share disagrees with the oracle, goes through the audit that serves. For several
targets: how many objects until the shortcut is trusted or given up, for how many the oracle had to be asked (because it
answered, or for audits), and how often what the stream was told agrees with the oracle.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean, quantiles
from typing import Any

from benchmarks.harness import Outcome, run
from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from pipelines.query.query_file import DEFAULT_ACCURACY

ACCURACIES = (0.8, 0.9, 0.95, 0.97)
DISAGREE, QUICK_DISAGREE = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4), (0.0, 0.02, 0.2)
RUNS, QUICK_RUNS = 40, 5
OBJECTS, QUICK_OBJECTS = 5000, 2000


def measure(quick: bool) -> Outcome:
    """Rows: one per target and share of disagreement."""
    rows = [
        _row(accuracy, disagree, QUICK_RUNS if quick else RUNS, QUICK_OBJECTS if quick else OBJECTS)
        for accuracy in ACCURACIES
        for disagree in (QUICK_DISAGREE if quick else DISAGREE)
    ]
    mine = {row["disagree"]: row for row in rows if row["accuracy_wanted"] == DEFAULT_ACCURACY}
    headline = {
        "oracle_share": {f"{share:g}": row["oracle_share"] for share, row in mine.items()},
        "agreement": {f"{share:g}": row["agreement_served"] for share, row in mine.items()},
    }
    return Outcome(rows, headline, partial(_draw, rows))


def _row(accuracy: float, disagree: float, runs: int, objects: int) -> dict[str, Any]:
    lives = [_live(Rule(accuracy), disagree, objects, seed) for seed in range(runs)]
    first = {phase: [life[phase] for life in lives if life[phase] is not None] for phase in ("trusted", "off")}
    return {
        "accuracy_wanted": accuracy,
        "disagree": disagree,
        "runs": runs,
        "objects_per_run": objects,
        "runs_trusted": len(first["trusted"]),
        "objects_until_trusted_p50": _quantile(first["trusted"], 5),
        "objects_until_trusted_p90": _quantile(first["trusted"], 9),
        "runs_off_before_trusted": sum(life["trusted"] is None and life["off"] is not None for life in lives),
        "objects_until_off_p50": _quantile(first["off"], 5),
        "oracle_share": round(fmean(life["oracle"] for life in lives) / objects, 4),
        "agreement_served": round(1 - fmean(life["wrong"] for life in lives) / objects, 5),
    }


def _quantile(found: Sequence[int], tenths: int) -> float | str:
    """Empty where there is nothing."""
    if not found:
        return ""
    return found[0] if len(found) == 1 else round(quantiles(found, n=10, method="inclusive")[tenths - 1])


def _live(rule: Rule, disagree: float, objects: int, seed: int) -> dict[str, Any]:
    """One stream: objects the oracle looked at, wrong answers served, and the object at which a phase was reached."""
    rng, audit, wrong, asked = random.Random(seed), Audit(rule), 0, 0
    first: dict[str, int | None] = {"trusted": None, "off": None}
    for number in range(1, objects + 1):
        disagrees = rng.random() < disagree
        if audit.uses_shortcut:
            wrong += disagrees
            ticket = audit.by_shortcut(rng.random())
            asked += ticket is not None
        else:
            ticket = audit.in_shadow()
            audit.by_oracle()
            asked += 1
        if ticket is not None:
            audit.tell(ticket, not disagrees)
        if audit.phase in first and first[audit.phase] is None:
            first[audit.phase] = number
    return {**first, "oracle": asked, "wrong": wrong}


def _draw(rows: Sequence[Mapping[str, Any]], figure: Any) -> None:
    cost, told = figure.subplots(1, 2)
    for accuracy in ACCURACIES:
        mine = [row for row in rows if row["accuracy_wanted"] == accuracy]
        shares = [row["disagree"] for row in mine]
        (line,) = cost.plot(shares, [row["oracle_share"] for row in mine], marker="o", label=f"accuracy {accuracy:g}")
        told.plot(shares, [row["agreement_served"] for row in mine], marker="o")
        told.axhline(accuracy, color=line.get_color(), linewidth=0.6, linestyle=":")
    for axes, title in ((cost, "objects that the oracle looked at"), (told, "agreement of what was served")):
        axes.set(xlabel="share of the objects of which the shortcut says something else", title=title)
        axes.set_xscale("symlog", linthresh=0.01)
    cost.legend(fontsize=8)


if __name__ == "__main__":
    run("audit", measure, __doc__ or "")
