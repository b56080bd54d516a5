"""How the zones and lines of a query are watched."""

from __future__ import annotations

from operators.observer import UNOBSERVED, Observer
from operators.publish.lifecycles import Lifecycles
from operators.publish.zone_events import ZoneRules
from operators.zones.presence import Hysteresis
from pipelines.query.query_file import Query


def lifecycles(query: Query, observer: Observer = UNOBSERVED) -> Lifecycles:
    """What makes events of the query's results; ``observer`` hears of them."""
    events = query.publish.events
    zones = ZoneRules(query.layout, Hysteresis(events.settle_s, events.margin), events.count_every_s)
    return Lifecycles(events.update_every_s, events.end_after_s, zones, observer)
