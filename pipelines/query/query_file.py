"""The query file: which streams, which nodes, at what latency. Documented key by key in ``docs/query.md``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from os.path import exists, join
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, InstanceOf, Tag, ValidationInfo, WithJsonSchema

from operators.capture.sources.uri import SourceUri
from operators.wire.bounds import MOST_NODES, MOST_ZONES
from pipelines.kafka.topics import TopicsConfig
from pipelines.query.budgets import LearningSpec
from pipelines.query.elsewhere.backends import Backends
from pipelines.query.nodes import (
    NetworkNode,
    NodeSpec,
    PolicyName,
    Seconds,
    Share,
    learns,
    takes_exits,
)
from pipelines.query.secret_places import SecretPlace, read_secret
from pipelines.query.zones import MOST_MASKS, LineSpec, MaskSpec, ShapeSpec, ZoneSpec
from serving.common.explain import KeyPath, Strict, choices
from serving.errors import SourceError

if TYPE_CHECKING:
    from operators.zones.layout import Layout

DEFAULT_ACCURACY = 0.9
"""A shortcut can be shown to keep it where an oracle says the same of an object again in 0.95, as ours do."""
DEFAULT_MAX_WIDTH = 1920

StreamId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")]


class Fps(Strict):
    """Sample this many frames per second of media time."""

    fps: float = Field(gt=0, le=240)


Sample = Annotated[
    Annotated[Literal["all", "keyframes"], Tag("by name")] | Annotated[Fps, Tag("by rate")],
    Discriminator(lambda value: "by rate" if isinstance(value, dict | Fps) else "by name"),
]


def _uri(value: Any, info: ValidationInfo) -> Any:
    """A relative path is relative to the query file, so that a query, its clips and its secrets move together."""
    if not isinstance(value, str):
        return value
    base = (info.context or {}).get("base")
    as_written = exists(join(base or "", value))  # the name of a file, whatever it looks like
    try:
        uri = SourceUri(value, None if as_written else partial(_placeholder, info.context or {}))
    except SourceError as error:
        raise ValueError(str(error)) from None
    if base is None or uri.kind != "path" or uri.path.is_absolute():
        return uri
    return SourceUri(str(base / uri.path))


def _placeholder(context: Mapping[str, Any], name: str) -> str:
    file = name.removeprefix("file:")
    place = SecretPlace(env=name) if file == name else SecretPlace(file=Path(file))
    return read_secret(place, context.get("base", Path()), f"{context.get('file', 'query')}: uri")


def _sample(value: Any) -> Any:
    number = re.fullmatch(r"(\d+(?:\.\d+)?) *(?:fps)?", str(value), re.IGNORECASE)
    if number is not None and not isinstance(value, bool):
        raise ValueError(f"is {value!r}: write {{fps: {number[1]}}} for so many frames a second")
    if isinstance(value, str) and value not in ("all", "keyframes"):
        raise ValueError(f"is {value!r}{choices(value, ('all', 'keyframes'))}, {{fps: 5}}")
    return value


class StreamSpec(Strict):
    """One source of frames."""

    uri: Annotated[InstanceOf[SourceUri], BeforeValidator(_uri), WithJsonSchema({"type": "string"})]
    """A file, directory of images, ``rtsp://``, ``http(s)://``, ``v4l2:0`` or ``synthetic:street?…``.

    In the address of a camera ``${NAME}`` and ``${file:PATH}`` stand for secrets."""
    id: StreamId = Field(default_factory=lambda valid: valid["uri"].stream_id if "uri" in valid else "unknown")
    """The key of the stream's messages. Default: made from the uri."""
    sample: Annotated[Sample, BeforeValidator(_sample)] = "all"
    """Which frames to analyse: ``all``, ``keyframes`` or ``{fps: 5}``."""
    motion_gate: bool = False
    """Skip sampled frames in which nothing moves."""
    max_width: int = Field(default=DEFAULT_MAX_WIDTH, ge=64, le=7680)
    """Larger frames are scaled down to this width, pixels."""
    overload: PolicyName | None = None
    """The fate of frames that come too fast. Default: ``block``, for live sources ``drop_oldest``."""

    @property
    def overload_policy(self) -> PolicyName:
        return self.overload or ("drop_oldest" if self.uri.live else "block")


class Events(Strict):
    """When events about tracks, zones and lines are published."""

    update_every_s: Seconds = 10.0
    """Shortest time between two updates of an unchanged track."""
    end_after_s: Seconds = 3.0
    """A track that was not seen this long has ended."""
    settle_s: Seconds = 0.4
    """An object has entered a zone, left it or crossed a line once it was seen there this long."""
    margin: Share = 0.15
    """How far it must be away from the border or the line, as a share of its own width and height."""
    count_every_s: float = Field(default=60.0, ge=1, le=86_400)
    """Time between two counts of zones and lines."""


class Publish(Strict):
    """Where results go."""

    topics: TopicsConfig = TopicsConfig.model_construct()
    """Their names, partitions, retention and limits."""
    events: Events = Events.model_construct()
    """When events about tracks are published."""


class Query(Strict):
    """The objects to look for, in which streams, how fast."""

    version: Literal[1]
    """The version of this file's format."""
    name: str = Field(pattern=r"^[a-z0-9-]{1,50}$")
    """The name of the query, which is part of every result."""
    slo_ms: float = Field(gt=0, le=600_000)
    """The time from capture to result that every frame should meet."""
    priority: int = Field(default=0, ge=-1000, le=1000)
    """Where a fleet's backends are too few, the work of queries of lower priority is shed first."""
    accuracy: float = Field(default=DEFAULT_ACCURACY, gt=0, le=1)
    """Target agreement of shortcuts with the oracles of their nodes."""
    variants: Literal["auto", "off", False] = "auto"
    """``auto``: a variant of a node's network answers in its place where that costs less and agrees; ``off``: none."""
    learning: LearningSpec = LearningSpec.model_construct()
    """Limits of learning from streams."""
    streams: tuple[StreamSpec, ...] = ()
    """The sources; ``--source`` replaces them."""
    backends: Backends = Field(default_factory=dict)
    """Servers of networks, by the names that models are ``on``."""
    nodes: tuple[NodeSpec, ...] = Field(min_length=1, max_length=MOST_NODES)
    """The work on each frame; in any order, inputs decide."""
    masks: tuple[MaskSpec, ...] = Field(default=(), max_length=MOST_MASKS)
    """Where in the pictures of streams objects count, and where not."""
    zones: tuple[ZoneSpec, ...] = Field(default=(), max_length=MOST_ZONES)
    """Areas in the pictures of streams that objects enter and leave."""
    lines: tuple[LineSpec, ...] = Field(default=(), max_length=MOST_ZONES)
    """Lines in the pictures of streams that objects cross."""
    publish: Publish = Publish.model_construct()
    """Where results go."""

    @property
    def learns(self) -> bool:
        """Whether exits may be made while it runs."""
        return self.learning.budget > 0 and any(map(learns, self.nodes))

    @property
    def takes_exits(self) -> bool:
        """Whether exits may answer, wherever they were made: without a budget nothing proves them."""
        return self.learning.budget > 0 and any(map(takes_exits, self.nodes))

    @property
    def has_budgets(self) -> bool:
        """Whether something of it may only cost so much in a day."""
        of_nodes = (node.budget for node in self.nodes if isinstance(node, NetworkNode))
        return any(each is not None for each in (*of_nodes, *(backend.budget for backend in self.backends.values())))

    @property
    def layout(self) -> Layout:
        from operators.zones.layout import Layout  # brings numpy, which a query with a mistake does without

        return Layout(tuple(each.zone for each in self.zones), tuple(each.line for each in self.lines))

    @property
    def pictures(self) -> frozenset[str]:
        """The ids of its streams of single pictures."""
        return frozenset(each.id for each in self.streams if each.uri.of_pictures)

    @property
    def shapes(self) -> Iterator[tuple[KeyPath, ShapeSpec]]:
        """Its zones and lines with their places in the file."""
        yield from ((("zones", place), spec) for place, spec in enumerate(self.zones))
        yield from ((("lines", place), spec) for place, spec in enumerate(self.lines))

    def with_sources(self, uris: Sequence[str]) -> Query:
        """This query on other sources, which take the settings of its first stream; raises SourceError."""
        if not uris:
            return self
        like = self.streams[0].model_dump(exclude={"uri", "id"}, exclude_unset=True) if self.streams else {}
        found = [SourceUri(uri) for uri in uris]
        streams = (StreamSpec(uri=uri, id=name, **like) for uri, name in zip(found, stream_ids(found), strict=True))
        return self.model_copy(update={"streams": tuple(streams)})


def stream_ids(uris: Sequence[SourceUri]) -> list[str]:
    """An id for each source, made of its address; those of one name are numbered."""
    ids: dict[str, None] = {}
    numbers: defaultdict[str, Iterator[int]] = defaultdict(partial(count, 2))
    for uri in uris:
        name = candidate = uri.stream_id
        while candidate in ids:
            candidate = f"{name[:95]}-{next(numbers[name])}"
        ids[candidate] = None
    return list(ids)
