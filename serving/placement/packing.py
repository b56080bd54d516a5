"""Algorithm 3.1: saturated backends, then residues merged by best fit (Shen, 2019). Pure.

Backends that can be emptied into the others are emptied afterwards, in plans that are made anew as well, which the
paper does between epochs alone.

Appendix A shows that the problem is strongly NP-hard and gives no bound; ``docs/placement.md`` says how far
this is from the exact programme.

Where there are several kinds of devices, a session's saturated backends are of the kind whose items are cheapest. A
residue opens a backend of that kind, or of the kind whose backend is cheapest as a whole: both are tried, and the
cheaper plan is taken. It is merged into backends of any kind on which it keeps its SLO.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import floor

from serving.placement.curves import ROUNDING, ServedSession
from serving.placement.demands import DeviceKind
from serving.placement.nodes import LEAST_RATE, SURELY_FULL, FleetNode, Piece, joined, node_of

MOST_NODES = 2000
"""Backends of a plan: who tells of a load without end must not have one planned without end."""
FULL = 0.999
"""A backend that is so busy takes nothing more and can hand nothing on."""


class Packing:
    """Backends, to which pieces are added."""

    def __init__(self, nodes: Iterable[FleetNode] = (), cheap_backends: bool = False) -> None:
        """``cheap_backends``: a residue opens the cheapest backend that it fits, not that with the cheapest items."""
        self.nodes = list(nodes)
        self.left: list[Piece] = []
        """Pieces for which no backend may be opened."""
        self._cheap = cheap_backends

    def add(self, pieces: Iterable[Piece]) -> None:
        """Full backends for whole loads, then what is left of each, with the largest occupancy first."""
        residues: list[tuple[float, Piece, int]] = []
        """Pieces with their occupancy, and how many there are that are alike: where one finds no place, none does."""
        for piece in pieces:
            kind = piece.session.kinds[0]
            full = replace(piece, rate=piece.session.saturated[kind.name][1])
            whole = floor(piece.rate / full.rate + ROUNDING)
            rest = replace(piece, rate=piece.rate - whole * full.rate)
            while whole and self._open(full):
                whole -= 1
            residues.append((1.0, full, whole))
            if rest.rate > LEAST_RATE:
                residues.append((rest.occupancy(kind), rest, 1))
        for _, residue, alike in sorted(residues, key=lambda each: -each[0]):
            while alike and (self.merge(residue) or self._open(residue)):
                alike -= 1
            if alike:
                self.left.append(replace(residue, rate=alike * residue.rate))

    def merge(self, piece: Piece, places: Sequence[int] | None = None) -> bool:
        """Put a piece to the backend that is fullest with it; False where it fits none (of those at ``places``)."""
        best: FleetNode | None = None
        best_place = -1
        key = (piece.session.key.model, piece.session.key.slo_s)
        room = {kind: SURELY_FULL - piece.least_share(kind) for kind in piece.session.curves}
        for place in range(len(self.nodes)) if places is None else places:
            old = self.nodes[place]
            cycle = old.cycle
            if (cycle.least_share > room.get(old.kind.name, 0.0) and key not in cycle.turns) or cycle.occupancy > FULL:
                continue
            node = joined(old, piece)
            if node and (best is None or node.cycle.occupancy > best.cycle.occupancy + ROUNDING):
                best, best_place = node, place
        if best is None:
            return False
        self.nodes[best_place] = best
        return True

    def _open(self, piece: Piece) -> bool:
        if len(self.nodes) >= MOST_NODES:
            return False
        kinds = sorted(piece.session.kinds, key=lambda kind: kind.price) if self._cheap else piece.session.kinds
        for kind in kinds:
            if kind.most is None or sum(node.kind.name == kind.name for node in self.nodes) < kind.most:
                node = node_of(kind, [piece])
                if node is not None:
                    self.nodes.append(node)
                    return True
        return False

    def consolidate(self) -> None:
        """Empty backends, the least busy first, whose pieces all fit others; a wanted one never empties one in use."""
        emptied = True
        while emptied:
            order = sorted(range(len(self.nodes)), key=lambda place: self.nodes[place].cycle.occupancy)
            emptied = any(self._empty(place) for place in order)

    def _empty(self, place: int) -> bool:
        source = self.nodes[place]
        if source.cycle.occupancy > FULL:
            return False
        before = list(self.nodes)
        into = [
            each for each, node in enumerate(before) if each != place and (node.name is not None or source.name is None)
        ]
        for piece in sorted(source.pieces, key=lambda each: -each.occupancy(source.kind)):
            if not self.merge(piece, into):
                self.nodes = before
                return False
        del self.nodes[place]
        return True

    @property
    def price(self) -> float:
        return sum(node.kind.price for node in self.nodes)


def packed(sessions: Sequence[ServedSession], kinds: Sequence[DeviceKind]) -> Packing:
    """All sessions on backends that are yet to be had: the cheaper of two ways to open them."""
    ways = (False, True) if len(kinds) > 1 else (False,)
    found = [Packing(cheap_backends=way) for way in ways]
    for each in found:
        each.add(Piece(session, session.rate) for session in sessions)
        each.consolidate()
    return min(found, key=lambda packing: (sum(piece.rate for piece in packing.left), packing.price))
