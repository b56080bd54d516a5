"""The files of a worker's queries: those that were named, or all of a folder; their digests show what has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pipelines.query.check import open_query
from pipelines.query.dag import CompiledQuery
from pipelines.query.yaml_file import MAX_BYTES
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput, SluiceError

SUFFIXES = (".yaml", ".yml")
MOST_QUERIES = 100
"""Queries of one worker."""


class QueryFiles:
    def __init__(self, paths: Sequence[Path], known: Catalogue, sources: Sequence[str] = ()) -> None:
        """Files, or folders of files; raises BadInput where there are none, or too many.

        ``sources``: in place of those that the queries list.
        """
        self.known = known
        """Where their models are looked up."""
        self._paths, self._sources = paths, sources
        self._folders = frozenset(path for path in paths if path.is_dir())
        if not (found := list(self.found())):
            folders = ", ".join(str(path) for path in paths)
            raise BadInput(f"{folders}: holds no query: put a file NAME.yaml there")
        if len(found) > MOST_QUERIES:
            raise BadInput(f"{len(found)} queries are more than the {MOST_QUERIES} that one worker takes")

    @property
    def follows(self) -> bool:
        """Whether queries may come, change and go while the worker runs; one that is named by itself stays."""
        return len(self._paths) > 1 or bool(self._folders)

    @property
    def folder(self) -> Path | None:
        """The folder, where it is one and nothing else."""
        return next(iter(self._folders)) if len(self._paths) == 1 and self._folders else None

    def is_named(self, path: Path) -> bool:
        """Whether a file was named by itself, and is not one of a folder's."""
        return path in self._paths

    def found(self) -> Iterator[Path]:
        """Those that are there, a folder's in the order of their names; files that are named need not be there.

        Raises OSError for a folder that cannot be read.
        """
        for path in self._paths:
            if path in self._folders:
                names = (each for each in path.iterdir() if each.suffix in SUFFIXES and not each.name.startswith("."))
                yield from sorted(each for each in names if each.is_file())
            else:
                yield path

    def read(self, path: Path) -> CompiledQuery:
        """The query in a file, checked; raises QueryError or another SluiceError."""
        return open_query(path, self.known, self._sources)

    @cached_property
    def first(self) -> Sequence[tuple[Path, bytes, CompiledQuery]]:
        """The files that are there at first, with their digests and queries.

        Raises what is wrong with one that is named by itself. In a folder it is refused later, as if it came then: a
        worker that is started anew must not stand still for it; raises what is wrong where no file of all is right.
        """
        digests, found, wrong = self.digests(), list[tuple[Path, bytes, CompiledQuery]](), list[SluiceError]()
        for path in self.found():
            try:
                found.append((path, digests.get(path, b""), self.read(path)))
            except SluiceError as error:
                if self.is_named(path):
                    raise
                wrong.append(error)
        if not found:
            raise wrong[0]
        return found

    def digests(self, known: Collection[Path] = ()) -> Mapping[Path, bytes]:
        """A digest of each file that can be read; where these are too many, of ``known`` ones, then of others.

        Raises OSError as ``found``.
        """
        found: dict[Path, bytes] = {}
        for path in sorted(self.found(), key=lambda path: path not in known)[:MOST_QUERIES]:
            try:
                with path.open("rb") as file:
                    found[path] = sha256(file.read(MAX_BYTES + 1)).digest()
            except OSError:
                continue
        return found
