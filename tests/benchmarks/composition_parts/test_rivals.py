"""Caches against variants of the whole network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.composition_parts.problem import Cache, CompositionProblem
from benchmarks.composition_parts.rivals import Rival, planned

FP32 = CompositionProblem([2.0, 2.0, 2.0, 2.0], [Cache(2, "FC(128)", 0.6, 0.97, 0.2)], 0.97)


def int8(agreement: float, latency: float, caches: tuple[Cache, ...] = ()) -> Rival:
    return Rival("int8", agreement, replace(FP32, layers=[latency / 4] * 4, caches=caches))


def test_where_a_variant_alone_is_fastest_nothing_is_built():
    plan = planned([Rival("fp32", 1.0, FP32), int8(0.9925, 2.5)])
    assert (plan.variant, plan.choice) == ("int8", ())
    assert "0.0%" in plan.reason


def test_a_variant_that_misses_the_target_is_no_rival():
    plan = planned([Rival("fp32", 1.0, FP32), int8(0.96, 2.5)])
    assert (plan.variant, plan.choice) == ("fp32", (0,))
    assert plan.latency == pytest.approx(0.6 * 4 + 0.2 + 0.4 * 8)
    assert plan.agreement == pytest.approx(1 - 0.6 * 0.03)


def test_caches_of_a_variant_get_what_its_own_disagreement_leaves():
    caches = (Cache(2, "sure", 0.5, 0.99, 0.02), Cache(2, "bold", 0.8, 0.97, 0.02))
    plan = planned([Rival("fp32", 1.0, FP32), int8(0.98, 2.5, caches)])
    assert (plan.variant, plan.choice) == ("int8", (0,))
    assert plan.agreement == pytest.approx(0.98 - 0.005)


def test_caches_that_hardly_help_are_not_worth_it():
    caches = (Cache(3, "late", 0.1, 1.0, 0.01),)
    plan = planned([Rival("fp32", 1.0, replace(FP32, caches=caches))])
    assert plan.choice == ()
    assert "less than 5%" in plan.reason
