"""From one epoch to the next with few moves (Shen, 2019, §3.4.1, last paragraph). Pure.

Each session stays where it is. One that has become smaller leaves its smallest places first. One that has grown takes
what is free where it is; if that is not enough, its smallest place sheds the cheapest sessions until it fits, provided
that it can hold all of it. All that found no place is packed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from serving.placement.curves import ServedSession, SessionKey
from serving.placement.demands import DeviceKind, Fleet
from serving.placement.nodes import LEAST_RATE, FleetNode, Piece, joined, largest_rate, node_of
from serving.placement.plan import FleetPlan


@dataclass(frozen=True, slots=True)
class CarriedOn:
    """The last epoch with the rates of now."""

    stayed: list[FleetNode]
    """Backends from which nothing had to go, except what no longer fits."""
    nodes: list[FleetNode]
    """The same where sessions that grew made room for themselves."""
    homeless: list[Piece]
    """All that is asked for and not on ``nodes``."""


def carried(before: FleetPlan, sessions: Sequence[ServedSession], fleet: Fleet) -> CarriedOn:
    """Backends that are no longer there are left out."""
    pieces, homeless = _fitted(_kept(before, sessions, fleet)), list[Piece]()
    kinds = {backend.name: backend.kind for backend in fleet.backends}
    by_name = {kind.name: kind for kind in fleet.kinds}
    nodes: list[FleetNode] = []
    for name, kept in pieces.items():
        node, evicted = cheapest_evicted(by_name[kinds[name]], kept, name)
        homeless += evicted
        nodes += [node] if node else []
    more = [_grown(nodes, piece) for piece in _missing(sessions, [*_pieces(nodes), *homeless])]
    stayed = list(nodes)
    for piece in (piece for piece in more if piece.rate > LEAST_RATE):
        homeless += _crowded(nodes, piece)
    return CarriedOn(stayed, nodes, _together(homeless))


def _pieces(nodes: Sequence[FleetNode]) -> list[Piece]:
    return [piece for node in nodes for piece in node.pieces]


def _missing(sessions: Sequence[ServedSession], pieces: Sequence[Piece]) -> list[Piece]:
    """The parts of sessions that are in none of the pieces, the highest priority first."""
    rates = {piece.session: piece.rate for piece in _together(pieces)}
    missing = [Piece(session, session.rate - rates.get(session, 0.0)) for session in sessions]
    return sorted(
        (piece for piece in missing if piece.rate > LEAST_RATE), key=lambda piece: -piece.session.key.priority
    )


def _kept(before: FleetPlan, sessions: Sequence[ServedSession], fleet: Fleet) -> dict[str, list[Piece]]:
    """By backend, what it served, of models that are still asked for, whatever their groups were."""
    known = {(model, each.key.slo_s, each.key.priority): each for each in sessions for model in each.models}
    there = {(backend.name, backend.kind) for backend in fleet.backends}
    return {
        each.name: _together(
            Piece(session, rate)
            for share in each.sessions
            for model, rate in share.models.items()
            if rate > LEAST_RATE  # another scheduler has told it rounded
            and (session := known.get((model, share.slo_s, share.priority)))
            and any(kind.name == each.kind for kind in session.kinds)
        )
        for each in before.backends
        if (each.name, each.kind) in there
    }


def _fitted(places: Mapping[str, list[Piece]]) -> dict[str, list[Piece]]:
    """The same with no more of any session than there is; the smallest places are left first."""
    fitted = {name: list(pieces) for name, pieces in places.items()}
    over: dict[SessionKey, float] = {}
    for piece in (piece for pieces in places.values() for piece in pieces):
        key = piece.session.key
        over[key] = over.get(key, -piece.session.rate) + piece.rate
    smallest = sorted(
        ((piece.rate, name, piece) for name, pieces in places.items() for piece in pieces),
        key=lambda each: (each[0], each[1]),
    )
    for _, name, piece in smallest:
        less = min(over[piece.session.key], piece.rate)
        if less > LEAST_RATE:
            over[piece.session.key] -= less
            at = fitted[name].index(piece)
            rest = replace(piece, rate=piece.rate - less)
            fitted[name][at : at + 1] = [rest] if rest.rate > LEAST_RATE else []
    return fitted


def cheapest_evicted(
    kind: DeviceKind, pieces: Sequence[Piece], name: str | None
) -> tuple[FleetNode | None, list[Piece]]:
    """As much of a backend as fits, and the sessions that had to go: those which take the least time."""
    kept, evicted = list(pieces), list[Piece]()
    while kept and (node := node_of(kind, kept, name)) is None:
        cheapest = min(kept, key=lambda piece: piece.rate / piece.session.curves[kind.name].most_per_s)
        kept.remove(cheapest)
        evicted.append(cheapest)
    return (node if kept else None), evicted


def _places(nodes: Sequence[FleetNode], session: ServedSession) -> list[int]:
    """The backends that have a session, with most of it first."""
    found = [place for place, node in enumerate(nodes) if node.rate_of(session)]
    return sorted(found, key=lambda place: -nodes[place].rate_of(session))


def _grown(nodes: list[FleetNode], more: Piece) -> Piece:
    """Add to a session what is free where it is; returns the rest."""
    for place in _places(nodes, more.session):
        taken = replace(more, rate=largest_rate(nodes[place], nodes[place].kind, more))
        node = joined(nodes[place], taken) if taken.rate > LEAST_RATE else None
        if node is not None:
            nodes[place], more = node, replace(more, rate=more.rate - taken.rate)
    return more


def _crowded(nodes: list[FleetNode], more: Piece) -> list[Piece]:
    """Make room at a session's smallest place, where all of it fits alone; returns what has no place then."""
    places = _places(nodes, more.session)
    if not places:
        return [more]
    node = nodes[places[-1]]
    all_of_it = replace(more, rate=node.rate_of(more.session) + more.rate)
    others = [piece for piece in node.pieces if piece.session is not more.session]
    if not others or node_of(node.kind, [all_of_it]) is None:
        return [more]
    left, evicted = cheapest_evicted(node.kind, [*others, all_of_it], node.name)
    if left is None:
        return [more]
    nodes[places[-1]] = left
    return evicted


def _together(pieces: Iterable[Piece]) -> list[Piece]:
    """One piece for each session."""
    rates: dict[ServedSession, float] = {}
    for piece in pieces:
        rates[piece.session] = rates.get(piece.session, 0.0) + piece.rate
    return [Piece(session, rate) for session, rate in rates.items()]
