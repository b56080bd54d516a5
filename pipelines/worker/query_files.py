"""The files of a worker's queries: those that were named, or all of a folder; their bytes show what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pipelines.query.check import open_query
from pipelines.query.compiled import CompiledQuery
from pipelines.query.yaml_file import MAX_BYTES
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput

SUFFIXES = (".yaml", ".yml")
MOST_QUERIES = 100
"""Queries of one worker."""


class QueryFiles:
    """Where the queries of a worker stand."""

    def __init__(self, paths: Sequence[Path], known: Catalogue, sources: Sequence[str] = ()) -> None:
        """Files, or folders of files; raises BadInput where there are none, or too many.

        ``sources``: in place of those that the queries list.
        """
        self.known = known
        """Where their models are looked up."""
        self._paths, self._sources = paths, sources
        if not (found := list(self.found())):
            folders = ", ".join(str(path) for path in paths)
            raise BadInput(f"{folders}: holds no query: put a file NAME.yaml there")
        if len(found) > MOST_QUERIES:
            raise BadInput(f"{len(found)} queries are more than the {MOST_QUERIES} that one worker takes")

    @property
    def follows(self) -> bool:
        """Whether queries may come, change and go while the worker runs; one that is named by itself stays."""
        return len(self._paths) > 1 or self._paths[0].is_dir()

    @property
    def folder(self) -> Path | None:
        """The folder, where it is one and nothing else."""
        return self._paths[0] if len(self._paths) == 1 and self._paths[0].is_dir() else None

    def found(self) -> Iterator[Path]:
        """Those that are there, a folder's in the order of their names; files that are named need not be there."""
        for path in self._paths:
            if path.is_dir():
                names = (each for each in path.iterdir() if each.suffix in SUFFIXES and not each.name.startswith("."))
                yield from sorted(each for each in names if each.is_file())
            else:
                yield path

    def read(self, path: Path) -> CompiledQuery:
        """The query in a file, checked; raises QueryError or another SluiceError."""
        return open_query(path, self.known, self._sources)

    @cached_property
    def first(self) -> Sequence[tuple[Path, bytes, CompiledQuery]]:
        """The files that are there at first, with their contents and queries; raises what is wrong with one."""
        contents = self.contents()
        return [(path, contents.get(path, b""), self.read(path)) for path in self.found()]

    def contents(self) -> Mapping[Path, bytes]:
        """The bytes of those that can be read, as far as a query's may go."""
        found: dict[Path, bytes] = {}
        for path in list(self.found())[:MOST_QUERIES]:
            try:
                with path.open("rb") as file:
                    found[path] = file.read(MAX_BYTES + 1)
            except OSError:
                continue
        return found
