"""A backend with the sessions that it serves in turn, and whether it can (Shen, 2019, §3.4.1, Figure 3.10). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from math import floor, inf

from serving.placement.curves import ROUNDING, BatchCurve, ServedSession, gathered
from serving.placement.demands import DeviceKind

LEAST_RATE = 1e-6
"""Items a second that count as none."""
CYCLES = 8
"""So many duty cycles with a full batch are tried for a backend."""
HALVINGS = 20
"""Steps of the search for a rate that fits."""
SURELY_FULL = 1 + 1e-5
"""The whole of a backend's time, with what rounding may add."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A session's items that one backend serves."""

    session: ServedSession
    rate: float

    def occupancy(self, kind: DeviceKind) -> float:
        """The part of a backend's time that it takes by itself; infinite where it does not fit one."""
        cycle = duty_cycle(kind, [self])
        return cycle.occupancy if cycle else inf


@dataclass(frozen=True, slots=True)
class DutyCycle:
    """One round of a backend through its sessions."""

    seconds: float
    busy_s: float
    batches: Mapping[tuple[str, float], int]
    """The most items of one turn, by model and SLO; priorities share a batch."""
    longest_s: float
    """No longer one keeps every SLO."""
    least_share: float
    """No other one leaves the sessions a smaller part of the time."""

    @property
    def occupancy(self) -> float:
        return self.busy_s / self.seconds


@dataclass(frozen=True, slots=True)
class FleetNode:
    """A backend, there or wanted."""

    kind: DeviceKind
    pieces: tuple[Piece, ...]
    cycle: DutyCycle
    name: str | None = None
    """None where it is only wanted."""

    def rate_of(self, session: ServedSession) -> float:
        return sum(each.rate for each in self.pieces if each.session is session)


def node_of(kind: DeviceKind, pieces: Sequence[Piece], name: str | None = None) -> FleetNode | None:
    """None where there are no pieces, or not all can be served in time, or the memory is too small."""
    cycle = duty_cycle(kind, pieces)
    return FleetNode(kind, tuple(pieces), cycle, name) if cycle else None


def joined(node: FleetNode, piece: Piece) -> FleetNode | None:
    """The node with one piece more; None where it does not fit."""
    if _cannot_join(node, piece):
        return None
    others = tuple(each for each in node.pieces if each.session is not piece.session)
    rate = node.rate_of(piece.session) + piece.rate
    return node_of(node.kind, [*others, replace(piece, rate=rate)], node.name)


def _cannot_join(node: FleetNode, piece: Piece) -> bool:
    """Whether that shows at a glance: most backends of a large fleet are too full for a session."""
    key, cycle = piece.session.key, node.cycle
    curve = piece.session.curves.get(node.kind.name)
    if curve is None:
        return True
    if (key.model, key.slo_s) in cycle.batches:
        return False
    longest_s = min(cycle.longest_s, curve.longest_cycle_s(key.slo_s, piece.rate))
    return longest_s <= 0 or cycle.least_share + curve.least_share(piece.rate, longest_s) > SURELY_FULL


def largest_rate(node: FleetNode | None, kind: DeviceKind, piece: Piece, least: float = 0.0) -> float:
    """So much of the piece's rate fits the node, or an empty backend of the kind; 0 where ``least`` does not."""

    def fits(rate: float) -> bool:
        part = replace(piece, rate=rate)
        return (joined(node, part) if node else node_of(kind, [part])) is not None

    if fits(piece.rate):
        return piece.rate
    if least and not fits(least):
        return 0.0
    low, high = 0.0, piece.rate
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class _Turn:
    """The pieces of one model and SLO, which run as one batch."""

    key: tuple[str, float]
    curve: BatchCurve
    rate: float


def duty_cycle(kind: DeviceKind, pieces: Sequence[Piece]) -> DutyCycle | None:
    """The round in which the pieces take the smallest share of the time; None where none keeps every SLO."""
    turns = _turns(kind, pieces)
    if not turns or sum({turn.key[0]: turn.curve.memory_bytes for turn in turns}.values()) > kind.memory_bytes:
        return None
    longest_s = min(turn.curve.longest_cycle_s(turn.key[1], turn.rate) for turn in turns)
    if longest_s <= 0:
        return None
    least_share = sum(turn.curve.least_share(turn.rate, longest_s) for turn in turns)
    if least_share > SURELY_FULL:
        return None
    limits = longest_s, least_share
    found = [cycle for seconds in _cycles_s(turns, longest_s) if (cycle := _cycle(turns, seconds, limits))]
    return min(found, key=lambda cycle: (cycle.occupancy, -cycle.seconds), default=None)


def _turns(kind: DeviceKind, pieces: Sequence[Piece]) -> list[_Turn]:
    rates: dict[tuple[str, float], float] = {}
    curves: dict[tuple[str, float], BatchCurve] = {}
    for piece in pieces:
        if kind not in piece.session.kinds:
            return []
        key = (piece.session.key.model, piece.session.key.slo_s)
        rates[key] = rates.get(key, 0.0) + piece.rate
        curves[key] = piece.session.curves[kind.name]
    return [_Turn(key, curves[key], rate) for key, rate in rates.items()]


def _cycles_s(turns: Sequence[_Turn], longest_s: float) -> Iterator[float]:
    """Rounds worth trying: the longest, and those below it that fill the batch of one session, as in the paper."""
    yield longest_s
    yield from nlargest(CYCLES, (floor(longest_s * turn.rate + 1e-6) / turn.rate for turn in turns))
    if len(turns) == 1:
        batch, _ = turns[0].curve.saturated(turns[0].key[1])
        yield min(longest_s, turns[0].curve.seconds[batch])


def _cycle(turns: Sequence[_Turn], seconds: float, limits: tuple[float, float]) -> DutyCycle | None:
    if seconds <= 0:
        return None
    batches = {turn.key: gathered(turn.rate, seconds) for turn in turns}
    if any(batches[turn.key] >= len(turn.curve.seconds) for turn in turns):
        return None
    busy_s = sum(turn.curve.seconds[batches[turn.key]] for turn in turns)
    return DutyCycle(seconds, busy_s, batches, *limits) if busy_s <= seconds + ROUNDING else None
