"""Builds caches in the process of the tests; the same from the same samples only once, since that takes a second."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cache_adapt.caches.job import CachesAnswer, CachesJob, answered
from cache_adapt.caches.store import digest
from learning.array_files import FEATURES, LABELS

KNOWN: dict[str, CachesAnswer] = {}


class InProcess:
    """A ``Runner``; gives ``answer`` where there is one, else it does the job."""

    def __init__(self, answer: bytes | None = None) -> None:
        self._answer, self.jobs = answer, list[CachesJob]()

    async def run(self, job: bytes) -> bytes:
        self.jobs.append(msgspec.json.decode(job, type=CachesJob))
        if self._answer is not None:
            return self._answer
        wanted = self.jobs[-1]
        files = [(Path(wanted.store) / name).read_bytes() for name in (FEATURES, LABELS)]
        key = digest(b"".join([*files, msgspec.json.encode(msgspec.structs.replace(wanted, store=""))]))
        if key not in KNOWN:
            KNOWN[key] = msgspec.structs.replace(answered(wanted), processor_s=0.5)
        return msgspec.json.encode(KNOWN[key])

    async def close(self) -> None:
        return
