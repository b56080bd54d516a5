"""Follows the files of a worker's queries while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pipelines.query.dag import CompiledQuery
from pipelines.worker.open_queries import OpenQueries
from pipelines.worker.query_files import QueryFiles
from serving.errors import SluiceError

log = logging.getLogger(__name__)

EVERY_S = 2.0
"""Time between two looks at the files."""
SETTLE_S = 0.3
"""A file that is new or has changed is taken where it has stayed so for so long: one may be half written."""


class Following:
    """Has files taken that are new or have changed, and queries withdrawn whose files are gone.

    A file that cannot be taken is told in one line, once, and what ran before runs on.
    """

    def __init__(self, files: QueryFiles, queries: OpenQueries) -> None:
        self._files, self._queries = files, queries
        self._taken: dict[Path, bytes] = {}
        self._refused: dict[Path, bytes] = {}
        """The digest of each file that was taken, and refused, as it was last."""
        self._said: dict[Path, str] = {}
        """The name of the query in each file, as it could be read last."""
        self._gone: set[Path] = set()
        """Files that were not there at the last look: one that is being replaced may be away for a moment."""
        self._lost = False
        """Whether the last look failed."""

    async def open(self) -> None:
        """Take all files; raises what is wrong with one that is named by itself, or where none can be taken."""
        wrong: SluiceError | None = None
        for path, digest, wanted in self._files.first:
            try:
                await self._queries.take(path, wanted)
                self._taken[path], self._said[path] = digest, wanted.query.name
            except SluiceError as error:  # of a folder's file the first look tells
                if self._files.is_named(path):
                    raise
                wrong = wrong or error
        if wrong is not None and not self._queries.files:
            raise wrong

    async def run(self, asked: asyncio.Event, every_s: float = EVERY_S) -> None:
        """Look now and then, and at once when ``asked``."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(every_s):
                    await asked.wait()
            asked.clear()
            await self.look()

    async def look(self) -> None:
        """Take what is new or has changed, then withdraw what is gone; a folder that cannot be read changes nothing."""
        try:
            digests = await self._digests()
            news = {
                path: digest
                for path, digest in digests.items()
                if digest not in (self._taken.get(path), self._refused.get(path))
            }
            if news:
                await asyncio.sleep(SETTLE_S)
                digests = await self._digests()
        except OSError as error:
            if not self._lost:
                log.warning("the queries' folder cannot be read (%s): all run on as they are", error)
            self._lost = True
            return
        self._lost = False
        names = set(self._queries.files.values())
        self._refused |= (settled := {path: each for path, each in news.items() if digests.get(path) == each})
        read = {path: wanted for path in settled if (wanted := await self._read(path)) is not None}
        self._said = {path: name for path, name in self._said.items() if path in digests}
        self._said |= {path: wanted.query.name for path, wanted in read.items()}
        for path, wanted in read.items():  # names may go from one to the other
            await self._take(path, wanted)
        absent = self._queries.files.keys() - digests.keys()
        for name in [*self._queries.renamed, *(self._queries.files[path] for path in absent & self._gone)]:
            await self._withdraw(name)
        self._gone, files = absent, self._queries.files
        self._taken = {path: digest for path, digest in self._taken.items() if path in files}
        free = absent or names - set(files.values())  # names that a file which was refused may have
        self._refused = (
            {} if free else {path: each for path, each in self._refused.items() if digests.get(path) == each}
        )

    async def _digests(self) -> Mapping[Path, bytes]:
        return await asyncio.to_thread(self._files.digests, list(self._queries.files))

    async def _read(self, path: Path) -> CompiledQuery | None:
        try:
            return await asyncio.to_thread(self._files.read, path)
        except Exception as error:
            self._refuse(path, error)
        return None

    async def _take(self, path: Path, wanted: CompiledQuery) -> None:
        try:
            await self._queries.take(path, wanted, self._said)
        except Exception as error:
            self._refuse(path, error)
            return
        self._taken[path] = self._refused.pop(path)
        log.info("%s: query %s runs as the file says now", path, wanted.query.name)

    def _refuse(self, path: Path, error: Exception) -> None:
        """Whatever happens with one query, the others are followed."""
        if not isinstance(error, SluiceError):
            log.error("%s: it was not taken: %s: %s", path, type(error).__name__, error)
            return
        runs = self._queries.files.get(path)
        after = "it does not run" if runs is None else f"query {runs} runs on as it was"
        why = "; ".join(str(error).splitlines())
        log.error("a query was refused, %s: %s", after, why if str(path) in why else f"{path}: {why}")

    async def _withdraw(self, name: str) -> None:
        try:
            await self._queries.withdraw(name)
        except Exception as error:  # the others are followed
            log.error("query %s did not end well: %s: %s", name, type(error).__name__, error)
        else:
            log.info("query %s was withdrawn: no file has it any more", name)
        if not self._queries.files:
            log.warning("no query is left: frames pass unanswered until there is one")
