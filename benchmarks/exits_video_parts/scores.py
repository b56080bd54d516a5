"""What exits did in a run, beside a run of the oracle alone on the same frames. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cache_adapt.bisection import crossing
from learning.binomial import at_least
from operators.wire.result import UNKNOWN

EXITS = ("specialised", "cached")
"""Provenances of looks that exits have answered."""
OTHER = "other"
"""It names nothing, so it counts as ``unknown``, as in audits."""
ERROR = 0.05

Key = tuple[int, int]
"""A frame, and the object's number in it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a run has published of an object in a frame."""

    whom: str
    """The object's track; without one, the object in this frame."""
    label: str
    looked: str
    """Who looked at it in this frame; empty: nobody did."""


Published = Mapping[Key, Said]
"""In the order of the frames."""


def published(lines: Iterable[Mapping[str, Any]]) -> dict[Key, Said]:
    """What the results of a run say of every object that has an answer."""
    return {
        (int(line["seq"]), int(one["id"])): _said(f"{line['seq']}/{one['id']}", one, one["attributes"][0])
        for line in lines
        for one in line["objects"]
        if one["attributes"]
    }


def _said(frame: str, one: Mapping[str, Any], attribute: Mapping[str, Any]) -> Said:
    track, by, label = one["track_id"], attribute["provenance"], attribute["label"]
    looked = attribute.get("looked", "") if by == "track" else by
    return Said(frame if track is None else str(track), UNKNOWN if label == OTHER else label, looked)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of objects by frames, and the interval that holds it with 95 % (Clopper and Pearson, 1934).

    Answers for one track are not independent, so the trials of the interval are tracks.
    """

    found: float
    low: float
    high: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, bool]]) -> Share | None:
        """``pairs``: whom an answer is for, and whether it counts; None where there is none."""
        if not pairs:
            return None
        found = sum(counts for _, counts in pairs) / len(pairs)
        tracks = len({whom for whom, _ in pairs})
        low, high = interval(found * tracks, tracks)
        return cls(round(found, 4), round(low, 4), round(high, 4))


def interval(successes: float, trials: float) -> tuple[float, float]:
    """The Clopper–Pearson interval of a share; successes need not be whole.

    >>> [round(each, 3) for each in interval(0, 20)], [round(each, 3) for each in interval(15, 20)]
    ([0.0, 0.168], [0.509, 0.913])
    """

    def share(enough: float, tail: float) -> float:
        return crossing(lambda probability: at_least(enough, trials, probability) - tail, 0.0, 1.0)

    low = 0.0 if successes <= 0 else share(successes, ERROR / 2)
    high = 1.0 if successes >= trials else share(successes + 1, 1 - ERROR / 2)
    return low, high


@dataclass(frozen=True, slots=True)
class Compared:
    """A run beside the oracle's, over some frames."""

    objects: int
    """By frames."""
    same: float
    """Share of the objects that both runs have answered for."""
    looks: int
    by_exits: int
    """Looks."""
    agreement: Share | None
    """The agreement of all words that were published."""
    of_exits: Share | None
    """The same for objects at which an exit has looked so far."""
    names_lost: Share | None
    """Share of what the oracle named that got another word."""


def compared(
    run: Published, oracle: Published, frames: Callable[[int], bool] = lambda seq: True, by: Sequence[str] = EXITS
) -> Compared:
    """Compare the frames that are asked for; what exits looked at before counts too.

    ``by``: the provenances that are counted, in place of those of exits.
    """
    touched = _touched(run, by)
    mine = {key: each for key, each in run.items() if frames(key[0])}
    others = {key: each for key, each in oracle.items() if frames(key[0])}
    both = [(key, mine[key], others[key]) for key in mine if key in others]
    agrees = [(each.whom, each.label == other.label) for _, each, other in both]
    by_exits = [(each.whom, each.label == other.label) for key, each, other in both if key in touched]
    named = [(each.whom, each.label != other.label) for _, each, other in both if other.label != UNKNOWN]
    return Compared(
        objects=len(mine),
        same=round(len(both) / max(len(mine.keys() | others.keys()), 1), 4),
        looks=sum(bool(each.looked) for each in mine.values()),
        by_exits=sum(each.looked in by for each in mine.values()),
        agreement=Share.of(agrees),
        of_exits=Share.of(by_exits),
        names_lost=Share.of(named),
    )


def first_service(run: Published) -> int | None:
    """Looks before the first that an exit has answered; None where none has."""
    looks = [each.looked in EXITS for each in run.values() if each.looked]
    return looks.index(True) if True in looks else None


def _touched(run: Published, by: Sequence[str]) -> set[Key]:
    """Objects, by frames, at which an exit has looked by then."""
    seen, found = set[str](), set[Key]()
    for key, each in run.items():
        if each.looked in by:
            seen.add(each.whom)
        if each.whom in seen:
            found.add(key)
    return found
