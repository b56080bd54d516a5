"""The process that holds contests: it takes jobs and answers them, one after the other."""

from __future__ import annotations

import time

import msgspec

from learning.job_child import serve
from pipelines.measure.stand_ins.contest_job import answered as do


def answered(asked: bytes) -> bytes:
    """The encoded answer to an encoded job, with all that the process took: one is started for each job."""
    return msgspec.json.encode(msgspec.structs.replace(do(asked), processor_s=time.process_time()))


if __name__ == "__main__":
    serve(answered)
