"""The work that is measured: ``examples/vehicles.yaml`` on a clip of real traffic."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import av

from pipelines.environment import catalogue
from pipelines.query.draft import load_query
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue

ROOT = Path(__file__).resolve().parents[2]
QUERY = ROOT / "examples" / "vehicles.yaml"


def clip() -> Path:
    """A car park from above where the sample data is at hand, otherwise the clip that ships."""
    sample = Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared" / "data")) / "videos" / "car-detection.mp4"
    return sample if sample.is_file() else ROOT / "examples" / "street.mp4"


def query(source: Path, streams: int) -> Query:
    """The query on so many streams of one file."""
    return load_query(QUERY).with_sources([str(source)] * streams)


@cache
def models() -> Catalogue:
    """As the command finds them."""
    return catalogue(())


def at_rate(source: Path, fps: int, target: Path) -> Path:
    """The same frames, stamped for another rate; nothing is decoded."""
    with av.open(str(source)) as reader, av.open(str(target), "w") as writer:
        stream = reader.streams.video[0]
        faster = Fraction(stream.average_rate) / fps
        copy = writer.add_stream_from_template(stream)
        for packet in reader.demux(stream):
            if packet.dts is not None:
                _write(writer, packet, copy, faster)
    return target


def _write(writer: Any, packet: Any, stream: Any, faster: Fraction) -> None:
    packet.pts, packet.dts = round(packet.pts * faster), round(packet.dts * faster)
    packet.duration = round((packet.duration or 0) * faster)
    packet.stream = stream
    writer.mux(packet)


def sources(source: Path, streams: int) -> Sequence[str]:
    """The command line's words for it."""
    return [word for _ in range(streams) for word in ("--source", str(source))]
