"""A contest in a process of its own: real pictures of a real network go in, figures come out."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pipelines.measure.stand_ins.contest_job import CHILD, NAME, ContestJob, _agree, alone
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.child_job import answered, in_child
from serving.errors import Malformed, SluiceError
from serving.variants.artefacts import folder
from serving.variants.contest import Contest, read, store

MODEL, INT8 = "vehicle-colour", "vehicle-colour@onnxruntime-int8"
KNOWN = Catalogue([SHIPPED])


def job(cache: Path, count: int = 32, **changes: object) -> bytes:
    shape = KNOWN.find(MODEL).card.input.item_shape
    items = list(np.random.default_rng(0).normal(size=(count, *shape)).astype(np.float16))
    made = ContestJob.of(KNOWN, cache, [INT8], items)
    return msgspec.json.encode(msgspec.structs.replace(made, **changes))


async def test_the_process_answers_with_figures_and_its_cost(tmp_path: Path) -> None:
    answer = await in_child(CHILD, NAME, job(tmp_path))
    assert answer.error == ""
    contest = msgspec.json.decode(answer.result, type=Contest)
    (only,) = contest.contenders
    assert (only.variant, only.refused) == (INT8, "")
    assert answer.processor_s > only.load_s > 0
    store(contest, KNOWN.find(MODEL), tmp_path)
    assert read(KNOWN.find(MODEL), tmp_path) == contest


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"model": "no-such-model"}, "unknown model"),
        ({"pictures": b"1234"}, "4 bytes are not pictures"),
        ({"variants": ("nonsense@x-y",)}, "must be MODEL@ENGINE|unknown engine"),
    ],
)
def test_a_job_that_cannot_be_done_says_why(tmp_path: Path, changes: dict[str, object], error: str) -> None:
    found = answered(ContestJob, job(tmp_path, **changes))
    assert found.result == b""
    import re

    assert re.search(error, found.error)


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'{"model": 5}'])
def test_what_is_no_job_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        answered(ContestJob, data)


def test_two_processes_do_not_compare_the_same_variants_at_once(tmp_path: Path) -> None:
    with alone(folder(tmp_path, KNOWN.find(MODEL))):
        assert answered(ContestJob, job(tmp_path)).error == "another process compares them"
    assert answered(ContestJob, job(tmp_path)).error == ""


def test_where_nothing_can_be_written_nobody_waits(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir()
    place.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with alone(place / "inner"):
            pass
    finally:
        place.chmod(stat.S_IRWXU)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with alone(blocked / "inner"):
        pass
    assert os.listdir(tmp_path) != []
    with pytest.raises(SluiceError), alone(tmp_path), alone(tmp_path):
        pass


def test_classifiers_are_compared_by_the_words_that_are_published() -> None:
    card = KNOWN.find(MODEL).card.model_copy(
        update={"classes": ("red", "blue", "other"), "other_label": "other", "min_confidence": 0.6, "temperature": 1.0}
    )
    network = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]])
    variant = np.array([[0.9, 0.1, 0.0], [0.59, 0.3, 0.11], [0.4, 0.5, 0.1], [0.5, 0.4, 0.1], [0.2, 0.7, 0.1]])
    same = _agree(card.model_copy(update={"scores": "probabilities"}))([network], [variant])
    assert same.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]
