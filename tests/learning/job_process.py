"""A child for tests of ``JobRunner``: it answers a job with its text reversed, sleeps, dies or answers too much."""

from __future__ import annotations

import os
import time

from learning.job_child import LARGEST_BYTES, serve


def answered(job: bytes) -> bytes:
    if job == b"sleep":
        time.sleep(600)
    if job == b"die":
        os.write(2, b"no way on\n")
        os._exit(3)
    if job == b"much":
        return bytes(LARGEST_BYTES)
    if job == b"niceness":
        return str(os.nice(0)).encode()
    return job[::-1]


if __name__ == "__main__":
    serve(answered)
