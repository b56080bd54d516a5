"""A backend with the sessions that it serves in turn, and whether it can (Shen, 2019, §3.4.1, Figure 3.10). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

    def least_share(self, kind: str) -> float:
        """No backend serves it with a smaller part of its time."""
        curve = self.session.curves[kind]
        longest_s = curve.longest_cycle_s(self.session.key.slo_s, self.rate)
        return curve.least_share(self.rate, longest_s) if longest_s else inf


@dataclass(frozen=True, slots=True)
class Turn:
    """The pieces of one model and SLO, which run as one batch, whatever their priorities."""

    curve: BatchCurve
    rate: float

    def seconds(self, round_s: float) -> float:
        """The time that it takes of a round, at most; infinite where no batch is so large."""
        batch = gathered(self.rate, round_s)
        return self.curve.seconds[batch] if batch < len(self.curve.seconds) else inf

    def full_s(self, longest_s: float) -> float:
        """The longest round up to a length that fills its batch, as in the paper; 0 where nothing is gathered."""
        return floor(longest_s * self.rate + 1e-6) / self.rate


Rounds = Sequence[tuple[float, float]]
"""The longest round, then others from long to short; each with what its turns take, which may be more than there is."""


@dataclass(frozen=True, slots=True)
class DutyCycle:
    """One round of a backend through its sessions."""

    seconds: float
    busy_s: float
    longest_s: float
    """No longer one keeps every SLO."""
    least_share: float
    """No other one leaves the sessions a smaller part of the time."""
    turns: Mapping[tuple[str, float], Turn]
    tried: Rounds
    spare_s: float
    """No turn that takes more fits one of these."""

    @property
    def occupancy(self) -> float:
        return self.busy_s / self.seconds

    def batch(self, key: tuple[str, float]) -> int:
        """The most items of one turn."""
        return gathered(self.turns[key].rate, self.seconds)


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
    """The node with one piece more; None where it does not fit.

    Most backends of a large fleet are too full for a session, which shows at a glance. Where the longest round stays as
    it is, the rounds that were tried take one turn more.
    """
    key, cycle = (piece.session.key.model, piece.session.key.slo_s), node.cycle
    if key in cycle.turns or node.kind not in piece.session.kinds:
        return node_of(node.kind, with_piece(node, piece), node.name)
    turn = Turn(piece.session.curves[node.kind.name], piece.rate)
    own_s = turn.curve.longest_cycle_s(key[1], turn.rate)
    longest_s = min(cycle.longest_s, own_s)
    least_share = cycle.least_share + turn.curve.least_share(turn.rate, longest_s) if longest_s > 0 else inf
    if least_share > SURELY_FULL:
        return None
    if own_s < cycle.longest_s or len(cycle.turns) == 1:
        return node_of(node.kind, with_piece(node, piece), node.name)
    tried = _one_more(cycle, turn)
    turns = {**cycle.turns, key: turn}
    found = _least_busy(turns, tried, least_share) if tried and _fit_memory(node.kind, turns) else None
    return FleetNode(node.kind, with_piece(node, piece), found, node.name) if found else None


def with_piece(node: FleetNode, piece: Piece) -> tuple[Piece, ...]:
    """The pieces of a backend that has one more; those of one session are one."""
    others = [each for each in node.pieces if each.session is not piece.session]
    return (*others, Piece(piece.session, node.rate_of(piece.session) + piece.rate))


def largest_rate(node: FleetNode | None, kind: DeviceKind, piece: Piece, least: float = 0.0) -> float:
    """So much of the piece's rate fits the node, or an empty backend of the kind; 0 where ``least`` does not."""

    def fits(rate: float) -> bool:
        part = Piece(piece.session, rate)
        return (joined(node, part) if node else node_of(kind, [part])) is not None

    if least and not fits(least):
        return 0.0
    if fits(piece.rate):
        return piece.rate
    low, high = 0.0, min(piece.rate, piece.session.curves[kind.name].most_per_s)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def duty_cycle(kind: DeviceKind, pieces: Sequence[Piece]) -> DutyCycle | None:
    """The round in which the pieces take the smallest share of the time; None where none keeps every SLO."""
    turns = _turns(kind, pieces)
    if not turns or not _fit_memory(kind, turns):
        return None
    longest_s = min(turn.curve.longest_cycle_s(slo_s, turn.rate) for (_, slo_s), turn in turns.items())
    if longest_s <= 0:
        return None
    least_share = sum(turn.curve.least_share(turn.rate, longest_s) for turn in turns.values())
    if least_share > SURELY_FULL:
        return None
    tried = [(seconds, _busy_s(turns, seconds)) for seconds in _cycles_s(turns, longest_s)]
    return _least_busy(turns, tried, least_share)


def _one_more(cycle: DutyCycle, turn: Turn) -> Rounds | None:
    """The rounds to be tried with one turn more, as long as those of now; None where it fits none."""
    full_s = turn.full_s(cycle.longest_s)
    busy_s = turn.seconds(full_s)
    fits = busy_s <= (1 - cycle.least_share) * full_s + 2 * ROUNDING
    own = (full_s, busy_s + _busy_s(cycle.turns, full_s) if fits else inf)
    if turn.curve.seconds[1] > cycle.spare_s and own[1] > full_s + ROUNDING:
        return None
    longest, *others = ((seconds, busy_s + turn.seconds(seconds)) for seconds, busy_s in cycle.tried)
    return [longest, *nlargest(CYCLES, [*others, own])]


def _least_busy(turns: Mapping[tuple[str, float], Turn], tried: Rounds, least_share: float) -> DutyCycle | None:
    """The round of which its turns take the smallest share; None where they fit none."""
    fit = [(busy_s / seconds, -seconds, busy_s) for seconds, busy_s in tried if busy_s <= seconds + ROUNDING]
    if not fit:
        return None
    _, round_s, busy_s = min(fit)
    spare_s = max(seconds - busy_s for seconds, busy_s in tried) + 2 * ROUNDING
    return DutyCycle(-round_s, busy_s, tried[0][0], least_share, turns, tried, spare_s)


def _turns(kind: DeviceKind, pieces: Sequence[Piece]) -> dict[tuple[str, float], Turn]:
    turns: dict[tuple[str, float], Turn] = {}
    for piece in pieces:
        if kind not in piece.session.kinds:
            return {}
        key = (piece.session.key.model, piece.session.key.slo_s)
        rate = turns[key].rate if key in turns else 0.0
        turns[key] = Turn(piece.session.curves[kind.name], rate + piece.rate)
    return turns


def _fit_memory(kind: DeviceKind, turns: Mapping[tuple[str, float], Turn]) -> bool:
    return sum({model: turn.curve.memory_bytes for (model, _), turn in turns.items()}.values()) <= kind.memory_bytes


def _cycles_s(turns: Mapping[tuple[str, float], Turn], longest_s: float) -> Iterator[float]:
    """Rounds worth trying: the longest, and those below it that fill the batch of one session, as in the paper."""
    yield longest_s
    yield from nlargest(CYCLES, (turn.full_s(longest_s) for turn in turns.values()))
    if len(turns) == 1:
        ((_, slo_s), turn), *_ = turns.items()
        batch, _ = turn.curve.saturated(slo_s)
        yield min(longest_s, turn.curve.seconds[batch])


def _busy_s(turns: Mapping[tuple[str, float], Turn], seconds: float) -> float:
    """All turns of a round."""
    return sum(turn.seconds(seconds) for turn in turns.values())
