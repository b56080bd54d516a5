"""Agreement and savings are those of the plans, and of no more streams than are allowed."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from operators.audits.audit_report import Audited, node_plan
from operators.wire.schema import StreamPlan, from_json
from pipelines.observe.metrics import families
from pipelines.observe.metrics.families import STANDING
from pipelines.observe.metrics.scrape import PlanCollector
from tests.operators.publish.messages import AT
from tests.pipelines.observe.plans import specialised

GOLDEN = Path(__file__).parents[3] / "golden"


def plan(stream: str, audits: int = 20) -> StreamPlan:
    audit = Audit(Rule(0.9))
    for number in range(audits):
        ticket = audit.in_shadow()
        assert ticket is not None
        audit.tell(ticket, agrees=number != 3)
    made = node_plan(Audited("kind", "variant", "oracle", ["compact"]), audit)
    return StreamPlan(stream=stream, query="q", at=AT, nodes=[made, specialised("kind")])


def shown(*plans: StreamPlan, most: int = 10) -> CollectorRegistry:
    standing, registry = PlanCollector(most), CollectorRegistry()
    registry.register(standing)
    standing.plans = plans
    return registry


def test_the_registry_holds_the_families_that_are_listed_and_no_others() -> None:
    found = {(each.name, each.type, each.documentation) for each in shown(plan("gate")).collect()}
    assert found == {(each.name, each.kind, each.help) for each in STANDING}


def test_agreement_comes_with_its_bounds_and_what_is_wanted() -> None:
    registry, told = shown(plan("gate")), plan("gate").nodes[0].agreement
    where = {"stream": "gate", "node": "kind", "kind": "variant"}
    found = [
        registry.get_sample_value(family.sample, where)
        for family in (families.AGREEMENT_LOW, families.AGREEMENT, families.AGREEMENT_HIGH, families.WANTED)
    ]
    assert found == [told.sequential.low, told.found, told.sequential.high, 0.9]
    assert registry.get_sample_value(families.PHASE.sample, {**where, "phase": "shadow"}) == 1


def test_nothing_is_said_of_an_agreement_that_was_never_audited() -> None:
    where = {"stream": "gate", "node": "kind", "kind": "variant"}
    assert shown(plan("gate", audits=0)).get_sample_value(families.AGREEMENT.sample, where) is None


def test_savings_are_those_of_the_account() -> None:
    registry, where = shown(plan("gate")), {"stream": "gate", "node": "kind"}
    assert registry.get_sample_value(families.SPARED_S.sample, where) == 9.0
    assert registry.get_sample_value(families.SAVED_S.sample, where) == -2.0


def test_what_skipping_saves_is_shown_and_that_it_is_off() -> None:
    resting = from_json((GOLDEN / "plan-rest.json").read_bytes(), StreamPlan)
    registry, where = shown(resting), {"stream": "carpark", "node": "detect"}
    assert registry.get_sample_value(families.SPARED_S.sample, where) == 4.0
    assert registry.get_sample_value(families.SAVED_S.sample, where) == -1.5
    off = {**where, "kind": "propagated", "phase": "off"}
    assert registry.get_sample_value(families.PHASE.sample, off) == 1


def test_streams_are_bounded() -> None:
    (wanted,) = [
        metric
        for metric in shown(*(plan(f"s{number}") for number in range(30)), most=5).collect()
        if metric.name == families.WANTED.name
    ]
    assert {sample.labels["stream"] for sample in wanted.samples} == {f"s{number}" for number in range(5)}
