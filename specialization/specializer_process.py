"""The process behind ``ProcessSpecializer``: reads jobs as JSON lines, trains, writes answers; ends with its input."""

from __future__ import annotations

import base64
import os
import signal
import sys
from typing import BinaryIO

import msgspec

from serving.errors import SluiceError
from specialization.job import Job, ProfileJob, give_way, profile, train
from specialization.process_specializer import Answer


def main() -> None:
    """Serve until the other side closes the pipe or has ended."""
    give_way()
    # Ctrl-C reaches the whole group; the one who started this decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(sys.stdin.buffer, answers)
    except BrokenPipeError:
        os._exit(0)


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line with a line."""
    for line in jobs:
        answers.write(msgspec.json.encode(_answer(line)) + b"\n")
        answers.flush()


def _answer(line: bytes) -> Answer:
    try:
        job = msgspec.json.decode(line, type=Job | ProfileJob)
        if isinstance(job, ProfileJob):
            return Answer(measured=profile(job))
        return Answer(head=base64.b64encode(train(job).to_bytes()).decode())
    except (SluiceError, msgspec.MsgspecError) as error:
        return Answer(error=str(error))


if __name__ == "__main__":
    main()
