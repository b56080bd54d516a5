"""The process behind ``ProcessSpecializer``: it takes jobs, trains and answers."""

from __future__ import annotations

import base64
import time

import msgspec

from learning.job_child import serve
from serving.common.untrusted import decode
from serving.errors import SluiceError
from specialization.trainer.job import Job, ProfileJob, profile, train
from specialization.trainer.process import JobAnswer

_told_s = 0.0
"""Processor seconds of this process that earlier answers have told."""


def answered(asked: bytes) -> bytes:
    """The encoded answer to an encoded job, with what it took; the first job pays for the start of the process."""
    global _told_s
    answer = _answer(asked)
    before_s, _told_s = _told_s, time.process_time()
    return msgspec.json.encode(msgspec.structs.replace(answer, processor_s=_told_s - before_s))


def _answer(asked: bytes) -> JobAnswer:
    try:
        job: Job | ProfileJob = decode(asked, Job | ProfileJob)
        if isinstance(job, ProfileJob):
            return JobAnswer(measured=profile(job))
        return JobAnswer(head=base64.b64encode(train(job).to_bytes()).decode())
    except SluiceError as error:
        return JobAnswer(error=str(error))


if __name__ == "__main__":
    serve(answered)
