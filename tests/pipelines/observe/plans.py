"""Plans of nodes, to be shown."""

from __future__ import annotations

from msgspec.structs import replace

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from operators.audits.audit_report import Audited, node_plan
from operators.wire.schema import NodePlan, ProcessorSeconds, Specialization


def specialised(node: str) -> NodePlan:
    """A node whose exits spared 9 s of its oracle and cost 11 s."""
    account = ProcessorSeconds(oracle=20.0, shortcuts=1.0, avoided=9.0, spent=10.0, saved=-2.0)
    made = Specialization(
        phase="specialised",
        epoch=1,
        oracle=10,
        head=5,
        fallback=1,
        reused=0,
        audits=3,
        special_rate=0.4,
        cascade_rate=0.1,
        transitions=1,
        mean_dominant=2.0,
        mean_window=100.0,
        saving=-0.1,
        speedup=0.9,
        processor_s=account,
    )
    plan = node_plan(Audited(node, "specialised", "oracle", ["head"]), Audit(Rule(0.9)))
    return replace(plan, specialization=made)
