"""What it costs a shortcut to earn its use, and what a bad one costs before it is found out: a simulation, no networks.

A stream of answers of which a fixed share disagrees with the oracle goes through the audit that serves. For several
rates of audits on probation: how many answers until the shortcut is trusted or switched off, how often the oracle had
to be asked (for audits, or because it answered), and how often what the stream was told agrees with the oracle.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

from benchmarks.harness import Outcome, run
from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule

ACCURACY = 0.97
RATES = (0.05, 0.25, 1.0)
DISAGREE, QUICK_DISAGREE = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.3), (0.0, 0.01, 0.1)
RUNS, QUICK_RUNS = 20, 5
ANSWERS, QUICK_ANSWERS = 20_000, 10_000
HEADLINE_RATE = Rule(ACCURACY).probation_rate


def measure(quick: bool) -> Outcome:
    """Rows: one per rate and share of disagreement."""
    rows = [
        _row(rate, disagree, QUICK_RUNS if quick else RUNS, QUICK_ANSWERS if quick else ANSWERS)
        for rate in RATES
        for disagree in (QUICK_DISAGREE if quick else DISAGREE)
    ]
    mine = {row["disagree"]: row for row in rows if row["probation_rate"] == HEADLINE_RATE}
    headline = {
        "oracle_share": {f"{share:g}": row["oracle_share"] for share, row in mine.items()},
        "agreement": {f"{share:g}": row["agreement_served"] for share, row in mine.items()},
    }
    return Outcome(rows, headline, partial(_draw, rows))


def _row(rate: float, disagree: float, runs: int, answers: int) -> dict[str, Any]:
    lives = [_live(Rule(ACCURACY, probation_rate=rate), disagree, answers, seed) for seed in range(runs)]
    first = {phase: [life[phase] for life in lives if life[phase] is not None] for phase in ("trusted", "off")}
    return {
        "accuracy_wanted": ACCURACY,
        "probation_rate": rate,
        "disagree": disagree,
        "runs": runs,
        "answers_per_run": answers,
        "runs_trusted": len(first["trusted"]),
        "answers_until_trusted": median(first["trusted"]) if first["trusted"] else "",
        "runs_switched_off": len(first["off"]),
        "answers_until_off": median(first["off"]) if first["off"] else "",
        "audits": round(fmean(life["audits"] for life in lives), 1),
        "oracle_share": round(fmean(life["oracle"] for life in lives) / answers, 4),
        "agreement_served": round(1 - fmean(life["wrong"] for life in lives) / answers, 5),
    }


def _live(rule: Rule, disagree: float, answers: int, seed: int) -> dict[str, Any]:
    """One stream: runs of the oracle, wrong answers served, and the answer at which each phase was first reached."""
    rng, audit, wrong = random.Random(seed), Audit(rule), 0
    first: dict[str, int | None] = {"trusted": None, "off": None}
    for number in range(1, answers + 1):
        if audit.uses_shortcut:
            disagrees = rng.random() < disagree
            wrong += disagrees
            ticket = audit.by_shortcut(rng.random())
            if ticket is not None:
                audit.tell(ticket, not disagrees)
        else:
            audit.by_oracle()
        if audit.phase in first and first[audit.phase] is None:
            first[audit.phase] = number
    state = audit.state
    return {**first, "audits": state.audits, "oracle": state.audits + state.by_oracle, "wrong": wrong}


def _draw(rows: Sequence[Mapping[str, Any]], figure: Any) -> None:
    cost, told = figure.subplots(1, 2)
    for rate in RATES:
        mine = [row for row in rows if row["probation_rate"] == rate]
        shares = [row["disagree"] for row in mine]
        label = f"{rate:.0%} audited on probation"
        cost.plot(shares, [row["oracle_share"] for row in mine], marker="o", label=label)
        told.plot(shares, [row["agreement_served"] for row in mine], marker="o", label=label)
    for axes, title in ((cost, "asked the oracle, per answer"), (told, "agreement of what was served")):
        axes.axvline(1 - ACCURACY, color="grey", linewidth=0.8)
        axes.set(xlabel="share of the shortcut's answers that disagree", title=title)
        axes.set_xscale("symlog", linthresh=0.005)
    told.axhline(ACCURACY, color="grey", linewidth=0.8)
    cost.legend(fontsize=8)


if __name__ == "__main__":
    run("audit", measure, __doc__ or "")
