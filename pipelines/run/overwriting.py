"""Nothing is written over what a run reads, or over another thing that it writes."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from operators.annotate.target import of_streams
from operators.publish.jsonl import STDOUT
from pipelines.query.dag import CompiledQuery
from serving.errors import BadInput

Written = Mapping[str, str | Path | None]
"""Where to, by option; a text may stand for stdout, a path for a file alone."""


def keep_apart(query: Path, wanted: CompiledQuery, written: Written, sinks: Path | None = None) -> None:
    """Raise ``BadInput`` where an option names a file or folder that is read, or that another option names."""
    streams = wanted.query.streams
    known = {_place(each.uri.path): f"the source of stream {each.id}" for each in streams if each.uri.kind == "path"}
    known[_place(query)] = "the query"
    if sinks is not None:
        known[_place(sinks)] = "the file of sinks"
    galleries = {_place(node.gallery): f"the gallery of node {node.name}" for node in wanted.dag.nodes if node.gallery}
    for option, target in written.items():
        if target is None or target == STDOUT:
            continue
        if str(target) == STDOUT:
            raise BadInput(f"{option} -: only results and events of `sluice run` go to stdout: name a file")
        videos = of_streams(Path(target), [each.id for each in streams]).values() if option == "--annotate" else ()
        for place, path in {_place(Path(each)): each for each in videos or (target,)}.items():
            if place is None:
                continue
            if place in known:
                raise BadInput(f"{option} {path}: would be written over {known[place]}: choose another place")
            for folder in map(_place, (Path(path), *Path(path).resolve().parents)):
                if folder in galleries:
                    raise BadInput(f"{option} {path}: would be written into {galleries[folder]}: choose another place")
            known[place] = f"what {option} writes"


def _place(path: Path) -> object:
    """The same for one file or folder under all of its names; None for what is neither, such as a device."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None
