"""Caches against whole-network variants: which variant to run, with which caches, if with any. Pure.

A variant that answers differently from the oracle has used up a part of what the target allows; its caches get the
rest. Caches bring work (training, audits, memory), so a plan with caches must be faster than the best variant by
``WORTH``, or there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.composition_parts.compose import compose
from benchmarks.composition_parts.problem import WORTH, Choice, CompositionProblem, expected


@dataclass(frozen=True, slots=True)
class Rival:
    """A way to run the network, and the caches that were explored for it."""

    name: str
    agreement: float
    """With the oracle, at least; 1 for the oracle itself."""
    problem: CompositionProblem
    """Its own layers and caches; the agreement in it is the target's, with the oracle."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A variant to run, with its caches."""

    variant: str
    choice: Choice
    """Which of that variant's caches; empty: the variant alone."""
    latency: float
    agreement: float
    """Expected share of inputs that get the oracle's answer."""
    reason: str
    """Why, in one sentence."""


def planned(variants: Sequence[Rival]) -> Composition:
    """The fastest plan that keeps the target; the first variant is the oracle, which always does."""
    without = alone(variants)
    plans = [plan for each in _fit(variants) if (plan := _with_caches(each)) is not None]
    best = min(plans, key=lambda plan: plan.latency, default=None)
    if best is None or best.latency > (1 - WORTH) * without.latency:
        gain = 0.0 if best is None else 1 - best.latency / without.latency
        reason = f"caches would save {max(gain, 0.0):.1%} of the latency of {without.variant}, less than {WORTH:.0%}"
        return replace(without, reason=reason)
    return replace(
        best, reason=f"caches save {1 - best.latency / without.latency:.1%} of the latency of {without.variant}"
    )


def alone(variants: Sequence[Rival]) -> Composition:
    """The fastest variant that keeps the target, without caches."""
    best = min(_fit(variants), key=lambda each: each.problem.whole)
    return Composition(best.name, (), best.problem.whole, best.agreement, "")


def _fit(variants: Sequence[Rival]) -> list[Rival]:
    return [each for each in variants if each.agreement >= each.problem.agreement - 1e-9]


def _with_caches(variant: Rival) -> Composition | None:
    """The variant with its best caches, within what its own disagreement leaves; None: none help."""
    problem = variant.problem
    left = replace(problem, agreement=min(problem.agreement + 1 - variant.agreement, 1.0))
    choice = compose(left)
    if not choice:
        return None
    found = expected(problem, choice)
    return Composition(variant.name, choice, found.latency, variant.agreement - (1 - found.agreement), "")
