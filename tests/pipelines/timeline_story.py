"""A stream that was specialised twice, as tests of reports and pictures need it."""

from __future__ import annotations

import msgspec

from cache_adapt.audit import Audit
from cache_adapt.audit_state import Rule
from operators.recognise.audit_report import node_plan
from operators.recognise.specialization_report import specialization
from operators.schema import NodePlan, StreamPlan
from specialization.timeline import Timeline
from specialization.weg_state import Head, Target, WegState
from tests.operators.publish.messages import AT

LABELS = ("bus", "car", "truck", "van")


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
    told.agreed(20, 0.8, 1.0)
    told.entered(40, "initialising")
    told.counted(45, oracle=30)
    told.entered(50, "specialised", ["bus", "car", "van"], window=60)
    told.counted(60, head=60, reused=20)
    told.agreed(60, 0.92, 0.99)
    return told


def node() -> NodePlan:
    """What is published of it; a run of the template costs a tenth of the oracle's."""
    state = WegState(epoch=2, head=Head(2, Target("compact", (0, 1, 3), 0.9, 0.2), 0.6))
    found = node_plan("kind", "specialised", "big", ["compact"], Audit(Rule(0.97)))
    return msgspec.structs.replace(found, specialization=specialization(timeline(), state, LABELS, 0.1))


def plan() -> StreamPlan:
    """Of the stream ``gate``."""
    return StreamPlan(stream="gate", query="q", at=AT, nodes=[node()])
