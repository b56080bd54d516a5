"""A stream that was specialised twice, as tests of reports need it."""

from __future__ import annotations

import msgspec

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from learning.account import Seconds
from operators.audits.audit_report import Audited, node_plan
from operators.recognise.audits.standing import Standing, specialization
from operators.wire.schema import NodePlan, StreamPlan
from specialization.timeline import Timeline
from tests.operators.publish.messages import AT


def timeline() -> Timeline:
    """Sixty seconds at the gate: cars and vans, then buses as well."""
    told = Timeline()
    told.entered(0, "initialising")
    told.counted(5, oracle=30)
    told.entered(6, "selecting", window=30)
    told.counted(7, oracle=10)
    told.entered(8, "training")
    told.counted(9, oracle=10)
    told.entered(10, "specialised", ["car", "van"], window=40)
    told.counted(20, head=45, fallback=5, audits=5)
    told.entered(40, "initialising")
    told.counted(45, oracle=30)
    told.entered(50, "specialised", ["bus", "car", "van"], window=60)
    told.counted(60, head=60, reused=20)
    return told


def node() -> NodePlan:
    """What is published of it; a look that leaves at an exit costs a tenth of a whole one."""
    seconds = Seconds(oracle=8.5, avoided=10.5, shortcuts=1.6)
    standing = Standing("specialised", 2, "compact", ("bus", "car", "van"), seconds=seconds)
    found = node_plan(Audited("kind", "specialised", "big", ["compact"]), Audit(Rule(0.97)))
    return msgspec.structs.replace(found, specialization=specialization(timeline(), standing))


def plan() -> StreamPlan:
    """The plan of the stream ``gate``."""
    return StreamPlan(stream="gate", query="q", at=AT, nodes=[node()])
