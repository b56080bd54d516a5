"""Exits are fitted in another process, from samples that come as bytes."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import numpy as np
import pytest

from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import MOST_ROWS
from cache_adapt.learned.job import CHILD, NAME, ExitsJob
from learning.job_child import JobAnswer, answered
from learning.job_runner import JobRunner
from serving.errors import Malformed
from tests.cache_adapt.learned.taught import SHA, SPEC, exits, in_folds, samples


def job(count: int = 300) -> ExitsJob:
    rows = in_folds(samples(count))
    packed = SPEC.layout.packed(rows)
    return ExitsJob.of("vehicle", SHA, SPEC, packed, rows.words.astype(np.int32))


async def test_a_process_of_its_own_fits_and_stays_for_the_next_job():
    runner = JobRunner(CHILD, NAME)
    try:
        first = JobAnswer.read(await runner.run(msgspec.json.encode(job())))
        pid = runner.pid
        second = JobAnswer.read(await runner.run(msgspec.json.encode(job())))
        assert runner.pid == pid
    finally:
        await runner.close()
    assert first.result == second.result
    assert 0 < second.processor_s < first.processor_s
    made = ExitArtefact.from_bytes(first.result)
    assert (made.tensors, made.card.samples) == (("early", "late"), 300)
    later, known = samples(300, seed=1).taps[0], exits(300).exits[0]
    assert (made.exits[0].words(later).words == known.words(later).words).mean() > 0.98


def test_the_process_loads_no_library_that_takes_longer_than_a_fit():
    heavy = "{'scipy', 'sklearn', 'onnx', 'onnxruntime', 'torch', 'cv2'}"
    program = f"import sys, {CHILD}; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_only_the_newest_samples_are_sent():
    assert len(job(MOST_ROWS + 100).words) == 4 * MOST_ROWS


def encoded(**fields: object) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(job(), **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"samples": b""},
        {"samples": b"1"},
        {"words": b"12345"},
        {"words": np.full(300, 9, "<i4").tobytes()},
        {"words": np.full(300, 1, "<i4").tobytes()},
        {"samples": np.full(300 * SPEC.layout.dims, np.nan, "<f2").tobytes()},
        {"samples": b"", "words": b""},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_samples_that_teach_nothing_are_answered_with_the_reason(fields):
    found = answered(ExitsJob, encoded(**fields))
    assert found.error
    assert "\n" not in found.error
    assert not found.result


@pytest.mark.parametrize("fields", [{"model_identity": "no"}, {"samples": 7}, {"spec": None}], ids=str)
def test_what_is_no_job_is_malformed(fields):
    with pytest.raises(Malformed):
        answered(ExitsJob, encoded(**fields))


def test_an_answer_is_read_strictly():
    for wrong in (b"", b"{}x", b'{"result": 5}', b'{"processor_s": -1}', b'{"more": 1}'):
        with pytest.raises(Malformed):
            JobAnswer.read(wrong)
