"""The process behind ``ProcessSpecializer``: it takes jobs, trains and answers."""

from __future__ import annotations

import base64

import msgspec

from learning.job_child import serve
from serving.common.untrusted import decode
from serving.errors import SluiceError
from specialization.trainer.job import Job, ProfileJob, profile, train
from specialization.trainer.process import JobAnswer


def answered(asked: bytes) -> bytes:
    """The encoded answer to an encoded job."""
    try:
        job: Job | ProfileJob = decode(asked, Job | ProfileJob)
        if isinstance(job, ProfileJob):
            answer = JobAnswer(measured=profile(job))
        else:
            answer = JobAnswer(head=base64.b64encode(train(job).to_bytes()).decode())
    except SluiceError as error:
        answer = JobAnswer(error=str(error))
    return msgspec.json.encode(answer)


if __name__ == "__main__":
    serve(answered)
