"""Who is served where backends are fewer than wanted: the higher priority, then as much as fits. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count

from serving.placement.demands import DeviceKind, FleetBackend
from serving.placement.nodes import LEAST_RATE, FleetNode, Piece, joined, largest_rate, node_of
from serving.placement.packing import Packing

LEAST_PART = 0.05
"""A smaller part of a piece is not worth loading a model for."""
BETTER = 1.01
"""Other items are served in place of those of the last epoch only where they take so many times as much."""


def admitted(
    nodes: Sequence[FleetNode], pieces: Sequence[Piece], free: Sequence[tuple[FleetBackend, DeviceKind]]
) -> list[FleetNode]:
    """The backends with as many of the pieces as they can serve.

    A piece goes where it fits, then to a free backend of any kind, then where pieces of lower priority make room, then
    in part where the largest part fits. Those that make room look for a place anew.
    """
    packing, free, waiting = Packing(nodes), list(free), _WaitingPieces(pieces)
    there = packing.nodes
    while (piece := waiting.next()) is not None:
        if packing.merge(piece):
            continue
        if opened := _opened(free, piece):
            there.append(opened[0])
            waiting.add(opened[1])
        elif (evicted := _displacing(there, piece)) is not None:
            waiting.add(evicted)
        elif (rests := _in_part(there, piece)) is not None:
            waiting.add(rests)
    return there


class _WaitingPieces:
    """Pieces without a place: the highest priority first, then the largest."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._heap: list[tuple[int, float, int, Piece]] = []
        self._count = count()
        self.add(pieces)

    def add(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            heappush(self._heap, (-piece.session.key.priority, -piece.rate / _best(piece), next(self._count), piece))

    def next(self) -> Piece | None:
        return heappop(self._heap)[3] if self._heap else None


def served_more(after: Sequence[FleetNode], before: Sequence[FleetNode]) -> bool:
    """Whether more is served of a priority, and no less of any that is higher."""
    new, old = _by_priority(after), _by_priority(before)
    for priority in sorted({*new, *old}, reverse=True):
        if new.get(priority, 0.0) > BETTER * old.get(priority, 0.0) + LEAST_RATE:
            return True
        if new.get(priority, 0.0) < (1 - LEAST_RATE) * old.get(priority, 0.0):
            return False
    return False


def _by_priority(nodes: Sequence[FleetNode]) -> dict[int, float]:
    """Backends' time rather than items: a light model has many items."""
    found: dict[int, float] = {}
    for piece in (piece for node in nodes for piece in node.pieces):
        priority = piece.session.key.priority
        found[priority] = found.get(priority, 0.0) + piece.rate / _best(piece)
    return found


def _best(piece: Piece) -> float:
    """Items a second of its cheapest kind: a rate over it is in backends."""
    return piece.session.saturated[piece.session.kinds[0].name][1]


def _opened(free: list[tuple[FleetBackend, DeviceKind]], piece: Piece) -> tuple[FleetNode, list[Piece]] | None:
    """A free backend with as much of a piece as fits it, and the rest of the piece; None where none is free for it."""
    for kind in piece.session.kinds:
        found = next((each for each in free if each[1] == kind), None)
        if found is not None:
            taken = replace(piece, rate=largest_rate(None, kind, piece))
            node = node_of(kind, [taken], found[0].name) if taken.rate > LEAST_RATE else None
            if node is not None:
                free.remove(found)
                rest = replace(piece, rate=piece.rate - taken.rate)
                return node, [rest] if rest.rate > LEAST_RATE else []
    return None


def _displacing(nodes: list[FleetNode], piece: Piece) -> list[Piece] | None:
    """Put a piece where the least important pieces make room; returns these, or None where that helps nowhere."""
    found: list[tuple[tuple[int, float], int, FleetNode, list[Piece]]] = []
    for place, node in enumerate(nodes):
        gone: list[Piece] = []
        for lower in _lower(node, piece):
            gone.append(lower)
            left = [each for each in node.pieces if each not in gone and each.session is not piece.session]
            rate = node.rate_of(piece.session) + piece.rate
            after = node_of(node.kind, [*left, replace(piece, rate=rate)], node.name)
            if after is not None:
                cost = (gone[-1].session.key.priority, sum(each.rate / _best(each) for each in gone))
                found.append((cost, place, after, gone))
                break
    if not found:
        return None
    _, place, after, gone = min(found, key=lambda each: each[:2])
    nodes[place] = after
    return gone


def _lower(node: FleetNode, piece: Piece) -> list[Piece]:
    """The pieces of lower priority, the least important and smallest first."""
    lower = [each for each in node.pieces if each.session.key.priority < piece.session.key.priority]
    return sorted(lower, key=lambda each: (each.session.key.priority, each.rate / _best(each)))


def _in_part(nodes: list[FleetNode], piece: Piece) -> list[Piece] | None:
    """Serve what fits of a piece beside pieces as important; returns what is left of it and those that made room."""
    best, best_place, best_node = LEAST_PART * piece.rate, -1, None
    for place, node in enumerate(nodes):
        lower = _lower(node, piece)
        room = node_of(node.kind, [each for each in node.pieces if each not in lower], node.name) if lower else node
        rate = largest_rate(room, node.kind, piece, best) if room or len(lower) == len(node.pieces) else 0.0
        if rate > best:
            taken = replace(piece, rate=rate)
            best, best_place = rate, place
            best_node = joined(room, taken) if room else node_of(node.kind, [taken], node.name)
    if best_node is None:
        return None
    rests = [replace(piece, rate=piece.rate - best), *_lower(nodes[best_place], piece)]
    nodes[best_place] = best_node
    return [each for each in rests if each.rate > LEAST_RATE]
