"""The process that trains exits: it takes jobs and answers them, one after the other."""

from __future__ import annotations

import time

import msgspec

from cache_adapt.learned.job import answered as do
from learning.job_child import serve

_told_s = 0.0
"""Processor seconds of this process that earlier answers have told."""


def answered(asked: bytes) -> bytes:
    """The encoded answer to an encoded job, with what it took; the first job pays for the start of the process."""
    global _told_s
    answer = do(asked)
    before_s, _told_s = _told_s, time.process_time()
    return msgspec.json.encode(msgspec.structs.replace(answer, processor_s=_told_s - before_s))


if __name__ == "__main__":
    serve(answered)
