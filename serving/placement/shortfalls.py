"""The sessions that are not served, and why, in a line for each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from serving.placement.curves import ServedSession
from serving.placement.demands import DeviceKind
from serving.placement.nodes import FleetNode
from serving.placement.plan import Cause, ShedLoad

CRUMB = 1e-5
"""A smaller share of a session is rounding."""


def short(able: Sequence[ServedSession], nodes: Sequence[FleetNode], wanted: Mapping[str, int]) -> list[ShedLoad]:
    """The parts of sessions for which backends are too few."""
    there = Counter(node.kind.name for node in nodes)
    more = ", ".join(f"{wanted[kind] - there[kind]} × {kind}" for kind in sorted(wanted) if wanted[kind] > there[kind])
    comes = f"wanted besides: {more}" if more else "no more backends may be wanted: raise the most of a device kind"
    found: list[ShedLoad] = []
    served: dict[ServedSession, float] = {}
    for piece in (piece for node in nodes for piece in node.pieces):
        served[piece.session] = served.get(piece.session, 0.0) + piece.rate
    for session in able:
        rate = session.rate - served.get(session, 0.0)
        if rate > CRUMB * session.rate:
            what = f"{_said(session)}: {rate:.1f} of {session.rate:.1f} items/s find no backend"
            found.append(_shed(session, rate, "capacity", f"{what}; {comes}"))
    return found


def unable(sessions: Sequence[ServedSession], kinds: Sequence[DeviceKind]) -> list[ShedLoad]:
    """The sessions that no kind of device can serve."""
    return [_shed(each, each.rate, *_why(each, kinds)) for each in sessions if not each.kinds]


def _why(session: ServedSession, kinds: Sequence[DeviceKind]) -> tuple[Cause, str]:
    names = ", ".join(kind.name for kind in kinds) or "none"
    profiled = [kind for kind in kinds if session.curves.get(kind.name) and session.curves[kind.name].sizes]
    if not profiled:
        return "profile", f"{session.key.model}: there is no profile of it on any kind of device ({names})"
    large = [kind for kind in profiled if session.curves[kind.name].memory_bytes <= kind.memory_bytes]
    if not large:
        least = min(session.curves[kind.name].memory_bytes for kind in profiled)
        most = max(kind.memory_bytes for kind in profiled)
        return (
            "memory",
            f"{session.key.model}: it takes {least / 1e6:.0f} MB, and no device has more than {most / 1e6:.0f}",
        )
    fastest_s, kind_name = min((session.curves[kind.name].seconds[1], kind.name) for kind in large)
    takes = f"one item takes {1000 * fastest_s:.1f} ms on {kind_name}, and another may run before it"
    return "slo", f"{_said(session)}: no device is fast enough; {takes}"


def _said(session: ServedSession) -> str:
    return f"{session.key.model} within {1000 * session.key.slo_s:g} ms"


def _shed(session: ServedSession, rate: float, cause: Cause, reason: str) -> ShedLoad:
    key = session.key
    return ShedLoad(key.model, key.slo_s, key.priority, rate, cause, reason)
