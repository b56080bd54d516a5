"""Sequential specialization on synthetic streams: table 5.2 of Shen, 2019, simulated, under the printed rules and ours.

No network runs. Accuracies and latencies are the paper's (table 5.1); how well heads do for n classes is a model
(``weg_parts/compact.py``), since the thesis only draws it. Against the printed results, the oracle alone (speed-up 1),
and an all-knowing specializer, which has the right head from the first object of a phase. The rules were chosen on
other settings than these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Outcome, run
from benchmarks.weg_parts.paper import OBJECTS_PER_S
from benchmarks.weg_parts.plot import draw
from benchmarks.weg_parts.printed import Printed
from benchmarks.weg_parts.settings import Setting, settings
from benchmarks.weg_parts.simulate import Account, World, simulate
from specialization.rates import Template
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Rules, Weg

SEEDS, QUICK_SEEDS = 5, 1
"""Streams per setting; the paper averages over 5."""
QUICK_EVERY = 4
"""Settings of which one is taken."""


def measure(quick: bool) -> Outcome:
    """Rows: one per setting and rules."""
    chosen = settings()[::QUICK_EVERY] if quick else settings()
    rows = [row for setting in chosen for row in _rows(setting, QUICK_SEEDS if quick else SEEDS)]
    return Outcome(rows, headline(rows), partial(draw, rows))


def _rows(setting: Setting, seeds: int) -> list[dict[str, Any]]:
    template, config = setting.task.template(), setting.task.config()
    rules: Mapping[str, Rules] = {
        "printed": Printed(config, {template.name: template}),
        "ours": Adaptive(config, {template.name: template}),
    }
    knowing, knowing_accuracy = all_knowing(setting, template)
    return [
        {
            "group": setting.group,
            "setting": setting.name,
            "rules": name,
            **_summary([_simulated(setting, template, each, seed) for seed in range(seeds)], template, setting),
            "paper_speedup": _rounded(setting.paper_speedup),
            "paper_accuracy_diff": _rounded(setting.paper_accuracy_diff),
            "all_knowing_speedup": round(1 / knowing, 3),
            "all_knowing_accuracy_diff": round(knowing_accuracy - setting.task.oracle_accuracy, 4),
        }
        for name, each in rules.items()
    ]


def _simulated(setting: Setting, template: Template, rules: Rules, seed: int) -> Account:
    rng = np.random.default_rng(seed)
    stream = setting.stream(rng)
    world = World(rng, setting.task.classes, setting.task.oracle_accuracy)
    return simulate(Weg(rules), stream, template, world, round(setting.task.training_s * OBJECTS_PER_S))


def _summary(accounts: Sequence[Account], template: Template, setting: Setting) -> dict[str, Any]:
    def mean(of: Any) -> float:
        return float(np.mean([of(account) for account in accounts]))

    return {
        "speedup": round(1 / mean(lambda account: account.cost(template)), 3),
        "accuracy_diff": round(mean(lambda account: account.accuracy_diff(setting.task.oracle_accuracy)), 4),
        "special_rate": round(mean(lambda account: account.head_runs / account.objects), 3),
        "transitions": round(mean(lambda account: account.entered), 1),
        "heads_trained": round(mean(lambda account: account.trained), 1),
    }


def all_knowing(setting: Setting, template: Template) -> tuple[float, float]:
    """Cost, as a share of the oracle's, and accuracy of who knows every phase: its cascade where that serves."""
    a = setting.task.oracle_accuracy
    found = []
    for phase in setting.phases:
        rates = template.rates(phase.dominant) if phase.dominant else None
        serves = rates and rates.accuracy(phase.skew, a) >= a + setting.task.tau_a
        cost = template.cascade_cost(rates, phase.skew) if rates and serves else 1.0
        accuracy = rates.accuracy(phase.skew, a) if rates and cost < 1 else a
        found.append((min(cost, 1.0), accuracy))
    cost, accuracy = np.average(found, axis=0, weights=[phase.length for phase in setting.phases])
    return float(cost), float(accuracy)


def headline(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Speed-ups, geometric means; regret: cost over the all-knowing specializer's."""
    both = ("printed", "ours")
    table = {name: [row for row in rows if row["rules"] == name and row["group"] == "table 5.2"] for name in both}
    drawn = {name: [row for row in rows if row["rules"] == name and row["group"] == "drawn"] for name in both}
    return {
        "speedup_over_paper": {name: _mean_ratio(table[name], "speedup", "paper_speedup") for name in both},
        "least_accuracy_diff": {name: min(row["accuracy_diff"] for row in table[name]) for name in both},
        "least_speedup": min(row["speedup"] for row in rows if row["rules"] == "ours"),
        "regret_drawn": {name: _mean_ratio(drawn[name], "all_knowing_speedup", "speedup") for name in both},
        "changes": {
            row["setting"]: row["speedup"] for row in rows if (row["group"], row["rules"]) == ("changes", "ours")
        },
    }


def _mean_ratio(rows: Sequence[Mapping[str, Any]], one: str, other: str) -> float:
    return round(float(np.exp(np.mean([np.log(row[one] / row[other]) for row in rows]))), 3)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


if __name__ == "__main__":
    run("weg_synthetic", measure, __doc__ or "")
