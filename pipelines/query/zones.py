"""Zones, lines and masks as a query says them, and what can be wrong with zones and lines beside each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from pipelines.query.nodes import Names, NodeName
from pipelines.query.points import Area, Patterns, Way
from serving.common.explain import KeyPath, Problem, Strict, choices, dotted

if TYPE_CHECKING:
    from operators.frames.mask import Mask
    from operators.zones.layout import Line, Zone

MOST_MASKS = 100


class ShapeSpec(Strict):
    """The keys of zones and lines."""

    name: NodeName
    """Names it in events, results and filters; unique on each stream."""
    streams: Patterns = ("*",)
    """Ids of the streams in whose picture it lies; ``*`` stands for any characters."""
    labels: Names | None = None
    """The detector's words for the objects it is about. Default: all objects."""
    point: Literal["bottom", "centre"] = "bottom"
    """The point of a box that stands for the object: the middle of its lower side, or its centre."""

    @property
    def concerned(self) -> frozenset[str] | None:
        """The labels it is about; None: all."""
        return None if self.labels is None else frozenset(self.labels)


class ZoneSpec(ShapeSpec):
    """An area that objects enter and leave."""

    polygon: Area
    """Its corners, in the order in which one walks round."""

    @property
    def zone(self) -> Zone:
        from operators.zones.layout import Zone  # brings numpy, which a query with a mistake does without

        return Zone(self.name, self.polygon, self.streams, self.concerned, self.point)


class LineSpec(ShapeSpec):
    """A line that objects cross."""

    points: Way
    """Its points, from its beginning to its end."""

    @property
    def line(self) -> Line:
        from operators.zones.layout import Line  # brings numpy

        return Line(self.name, self.points, self.streams, self.concerned, self.point)


def name_problems(shapes: Sequence[tuple[KeyPath, ShapeSpec]]) -> Iterator[Problem]:
    """Names that another zone or line of the same stream has."""
    for place, (path, spec) in enumerate(shapes):
        for other_path, other in shapes[:place]:
            if other.name == spec.name and any(_overlap(a, b) for a in spec.streams for b in other.streams):
                yield Problem((*path, "name"), f"{spec.name!r} is the name of {dotted(other_path)} too")
                break


def stream_problems(shapes: Iterable[tuple[KeyPath, ShapeSpec]], streams: Collection[str]) -> Iterator[Problem]:
    """Streams that the query, which has ``streams``, does not have; without any they may be whatever comes."""
    for path, spec in shapes:
        for pattern in spec.streams:
            if streams and not any(fnmatchcase(stream, pattern) for stream in streams):
                yield Problem((*path, "streams"), f"no stream is called {pattern!r}{choices(pattern, streams)}")


def _overlap(one: str, other: str) -> bool:
    """Whether some id fits both patterns. What lies between two ``*`` of a pattern can stand beside the other's.

    >>> _overlap("gate-*", "*-2"), _overlap("gate-*", "door"), _overlap("a*c*b", "ab*d*b")
    (True, False, True)
    """
    if "*" not in one or "*" not in other:
        return fnmatchcase(one, other) or fnmatchcase(other, one)
    (head, *_, tail), (head_2, *_, tail_2) = one.split("*"), other.split("*")
    begins = head.startswith(head_2) or head_2.startswith(head)
    return begins and (tail.endswith(tail_2) or tail_2.endswith(tail))


class MaskSpec(Strict):
    """A polygon in which objects do not count (``ignore``), or outside of which they do not (``require``)."""

    streams: Patterns = ("*",)
    """Ids of the streams in whose picture it lies; ``*`` stands for any characters."""
    ignore: Area | None = None
    """Objects that lie in it by half or more do not count."""
    require: Area | None = None
    """Objects count only where they lie in it, or in another such polygon, by half or more."""
    labels: Names | None = None
    """The detector's words for the objects it is about. Default: all objects."""

    @model_validator(mode="after")
    def _one_polygon(self) -> MaskSpec:
        if (self.ignore is None) == (self.require is None):
            raise ValueError("needs one polygon: 'ignore' or 'require'")
        return self

    @property
    def mask(self) -> Mask:
        from operators.frames.mask import Mask  # brings numpy, which a query with a mistake does without

        labels = None if self.labels is None else frozenset(self.labels)
        if self.ignore is not None:
            return Mask(self.ignore, "ignore", self.streams, labels)
        assert self.require is not None
        return Mask(self.require, "require", self.streams, labels)
