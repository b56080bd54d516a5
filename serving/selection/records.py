"""Makes the record that selection needs from a variant's profile.

Accuracy is the agreement with the reference, which is what a query's ``accuracy`` asks for; it needs no labels.

Cost is the device's time for one item, in seconds, when the variant runs at its best batch; times the price of a second
on its engine, where the user names one. So it is the inverse of the saturation throughput, and what is paid for a load
is load × cost, on any device.
"""

from __future__ import annotations

from serving.scheduling.estimates import LatencyTable
from serving.scheduling.health import State
from serving.selection.table import VariantRecord
from serving.variants.profiles import Profile


def saturation_items_per_s(profile: Profile) -> float:
    """The most items per second that the variant serves, in its best batch."""
    return max(batch / seconds for batch, seconds in profile.latency_s.items())


def record_of(
    profile: Profile,
    batch: int = 1,
    price_per_s: float = 1.0,
    state: State = State.INACTIVE,
    load: float = 0.0,
) -> VariantRecord:
    """``batch``: as large as the user's; ``price_per_s``: of a second on the variant's engine, in any one unit."""
    return VariantRecord(
        id=profile.variant,
        latency_s=LatencyTable(profile.latency_s)(batch),
        load_s=profile.load_s,
        accuracy=profile.agreement,
        cost=price_per_s / saturation_items_per_s(profile),
        state=state,
        load=load,
    )
