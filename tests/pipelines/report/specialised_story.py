"""A stream that was specialised twice, as tests of reports need it."""

from __future__ import annotations

import msgspec

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from operators.audits.audit_report import Audited, node_plan
from operators.recognise.exits.account import Seconds
from operators.recognise.exits.figures import specialization
from operators.wire.schema import NodePlan, StreamPlan
from specialization.tally import SpecializationTally
from specialization.weg.state import Head, HeadTarget, WegState
from tests.operators.publish.messages import AT


def tally() -> SpecializationTally:
    """Sixty seconds at the gate: cars and vans, then buses as well."""
    told = SpecializationTally()
    told.entered("initialising")
    told.counted(oracle=30)
    told.entered("selecting", window=30)
    told.counted(oracle=10)
    told.entered("training")
    told.counted(oracle=10)
    told.entered("specialised", ["car", "van"], window=40)
    told.counted(head=45, fallback=5, audits=5)
    told.entered("initialising")
    told.counted(oracle=30)
    told.entered("specialised", ["bus", "car", "van"], window=60)
    told.counted(head=60, reused=20)
    return told


def node() -> NodePlan:
    """What is published of it; a look that leaves at an exit costs a tenth of a whole one."""
    seconds = Seconds(oracle=8.5, avoided=10.5, shortcuts=1.6)
    weg = WegState(epoch=2, head=Head(2, HeadTarget("compact", (0, 1, 2), 0.9, 0.1), 0.6))
    found = node_plan(Audited("kind", "specialised", "big", ["compact"]), Audit(Rule(0.97)))
    return msgspec.structs.replace(found, specialization=specialization(tally(), weg, ("bus", "car", "van"), seconds))


def plan() -> StreamPlan:
    """The plan of the stream ``gate``."""
    return StreamPlan(stream="gate", query="q", at=AT, nodes=[node()])
