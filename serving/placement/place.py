"""One epoch of the global scheduler: who serves what, how many backends are wanted, what is shed. Pure.

Equal work on an equal fleet moves nothing. The plan goes on from that of the epoch before; it is made anew where that
costs a tenth less, or where more backends have come to be used than Algorithm 3.1 ever needs: those that are saturated,
and one for each session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import floor, isclose

from serving.placement.carrying import CarriedOn, carried
from serving.placement.curves import ROUNDING, ServedSession, sessions_of
from serving.placement.demands import Demand, DeviceKind, Fleet, FleetBackend, Profiles, check
from serving.placement.nodes import FleetNode
from serving.placement.packing import Packing, packed
from serving.placement.plan import BackendShare, Cause, FleetPlan, SessionShare, ShedLoad, moves_between
from serving.placement.shedding import admitted, served_more

ANEW = 0.9
"""Everything may move where that costs less than such a share."""
SETTLE = 8
"""A plan goes on from itself so often at most, until nothing moves: with too few backends, what one step sheds another
may find a place for."""


def place(demands: Sequence[Demand], profiles: Profiles, fleet: Fleet, before: FleetPlan | None = None) -> FleetPlan:
    """The plan for an epoch, after that of the epoch before; raises BadInput for numbers that make no sense.

    Requests of a plan that come evenly are all answered within their SLO.
    """
    check(demands, fleet)
    sessions = sessions_of(demands, profiles, fleet.kinds)
    fresh = packed([session for session in sessions if session.kinds], fleet.kinds)
    plan = start = before or FleetPlan()
    for step in range(1 + SETTLE):
        last, plan = plan, _epoch(sessions, fresh, fleet, plan)
        if _repeats(plan, last) or (step and not plan.moves and plan.wanted == last.wanted):
            break
    return replace(plan, moves=moves_between(start, plan.backends))


def _epoch(sessions: Sequence[ServedSession], fresh: Packing, fleet: Fleet, before: FleetPlan) -> FleetPlan:
    able = [session for session in sessions if session.kinds]
    going_on = carried(before, able, fleet)
    ideal = _ideal(going_on, able, fresh)
    nodes, enough = _on_fleet(ideal, fleet, before)
    if not enough and going_on.stayed and not served_more(nodes, going_on.stayed):
        nodes = going_on.stayed
    wanted = _count(ideal.nodes) | _count(nodes)
    backends = tuple(_share(node) for node in sorted(nodes, key=lambda node: node.name or ""))
    shed = (*unable(sessions, fleet.kinds), *short(able, nodes, wanted))
    return FleetPlan(backends, dict(wanted), shed, moves_between(before, backends))


def _repeats(plan: FleetPlan, last: FleetPlan) -> bool:
    """Whether both serve the same: what follows from one follows from the other."""
    now, then = _served(plan), _served(last)
    return now.keys() == then.keys() and all(isclose(now[each], then[each], rel_tol=CRUMB) for each in now)


def _served(plan: FleetPlan) -> dict[tuple[str, str, float, int], float]:
    return {
        (each.name, share.model, share.slo_s, share.priority): share.items_per_s
        for each in plan.backends
        for share in each.sessions
    }


def _ideal(carry: CarriedOn, able: Sequence[ServedSession], fresh: Packing) -> Packing:
    """All that is asked for on as many backends as that takes, those that are there or not; ``fresh``: placed anew."""
    if not carry.nodes:
        return fresh
    going_on = Packing(carry.nodes)
    going_on.add(carry.homeless)
    going_on.consolidate()
    most = sum(1 + floor(each.rate / each.saturated[each.kinds[0].name][1] + ROUNDING) for each in able)
    missing = sum(piece.rate for piece in going_on.left) > sum(piece.rate for piece in fresh.left)
    return fresh if missing or len(going_on.nodes) > most or fresh.price < ANEW * going_on.price else going_on


def _on_fleet(ideal: Packing, fleet: Fleet, before: FleetPlan) -> tuple[list[FleetNode], bool]:
    """The backends of the fleet with what they are to serve, and whether they are enough for all of it."""
    kinds = {kind.name: kind for kind in fleet.kinds}
    taken = {node.name for node in ideal.nodes}
    free = [backend for backend in fleet.backends if backend.name not in taken]
    nodes = _named(ideal.nodes, free, before)
    taken = {node.name for node in nodes}
    there = [node for node in nodes if node.name is not None]
    waiting = [*ideal.left, *(piece for node in nodes if node.name is None for piece in node.pieces)]
    still_free = [(each, kinds[each.kind]) for each in free if each.name not in taken]
    return admitted(there, waiting, still_free), not waiting


def _named(nodes: Sequence[FleetNode], free: Sequence[FleetBackend], before: FleetPlan) -> list[FleetNode]:
    """Give wanted backends those of the fleet that are free, which have most of their models, if any does.

    By kinds and models, of which a large fleet has few.
    """
    had = {each.name: {model for share in each.sessions for model in share.models} for each in before.backends}
    names: dict[_Form, list[str]] = {}
    for each in sorted(free, key=lambda each: each.name, reverse=True):
        names.setdefault((each.kind, frozenset(had.get(each.name, ()))), []).append(each.name)
    found, forms = list(nodes), [_form(node) for node in nodes]
    ranked: dict[float, dict[_Form, list[_Form]]] = {}
    for form in set(forms):
        for other in (other for other in names if other[0] == form[0]):
            share = len(form[1] & other[1]) / len(form[1] | other[1])
            ranked.setdefault(share, {}).setdefault(form, []).append(other)
    wanted = sorted((-_priority(node), place) for place, node in enumerate(nodes) if node.name is None)
    for share in sorted(ranked, reverse=True):
        for place in (place for _, place in wanted if found[place].name is None):
            there = [names[other] for other in ranked[share].get(forms[place], ()) if names[other]]
            if there:
                found[place] = replace(nodes[place], name=min(there, key=lambda each: each[-1]).pop())
    return found


_Form = tuple[str, frozenset[str]]
"""A kind of device, and models."""


def _form(node: FleetNode) -> _Form:
    return node.kind.name, frozenset(model for piece in node.pieces for model in piece.session.models)


def _priority(node: FleetNode) -> int:
    return max(piece.session.key.priority for piece in node.pieces)


def _count(nodes: Iterable[FleetNode]) -> Counter[str]:
    return Counter(node.kind.name for node in nodes)


def _share(node: FleetNode) -> BackendShare:
    sessions = tuple(
        SessionShare(
            key.model,
            key.slo_s,
            key.priority,
            piece.rate,
            node.cycle.batch((key.model, key.slo_s)),
            piece.session.rates(piece.rate),
        )
        for piece in node.pieces
        for key in (piece.session.key,)
    )
    return BackendShare(node.name or "", node.kind.name, node.cycle.seconds, sessions)


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
