"""Building caches in another process, from what was collected while serving."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from cache_adapt.caches.held import FOLDS, folds
from cache_adapt.caches.job import CachesAnswer, CachesJob, CutJob, _collected, answered, lookup_s
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.training import train_predictor
from learning.job_runner import JobRunner
from learning.ring import SampleRing
from learning.store import write_store
from pipelines.assembly.caches import CHILD, NAME
from serving.errors import ModelError, SluiceError
from tests.cache_adapt.caches.made import CLASSES, GRID, SHA, lessons


def job(store, **changes) -> CachesJob:
    cuts = (CutJob("layer2", GRID, 4e-3, 1e-4), CutJob("layer3", GRID, 6e-3, 1e-4))
    made = CachesJob(str(store), "vehicle", SHA, CLASSES, cuts, 8e-3, 0.9, ("FC(64)",), 1)
    return msgspec.structs.replace(made, **changes)


def taps(count: int = 900) -> tuple[np.ndarray, np.ndarray]:
    first, second = lessons(1.8, count), lessons(1.2, count)
    return np.concatenate([first.features, second.features], axis=1), second.answers


async def test_a_process_of_its_own_builds_caches_from_a_ring(tmp_path):
    features, answers = taps(300)
    ring = SampleRing(tmp_path, features.shape[1], 2048)
    ring.add(features, answers)
    runner = JobRunner(CHILD, NAME)
    try:
        said = msgspec.json.decode(
            await runner.run(msgspec.json.encode(job(tmp_path, agreement=0.8))), type=CachesAnswer
        )
    finally:
        await runner.close()
        ring.close()
    built = said.built()
    assert said.processor_s > 0
    assert set(built.tensors) <= {"layer2", "layer3"}
    assert (built.card.of, built.card.model_identity, built.card.samples) == ("answers", SHA, 300)
    assert built.card.speedup > 1
    for cache in built.caches:
        further = lessons(1.8 if cache.tensor == "layer2" else 1.2, 2000, seed=4)
        found = cache.look(further.features)
        if found.hit.sum() > 50:
            right = found.distribution.argmax(axis=1) == further.answers
            assert right[found.hit].mean() > 0.77


def test_where_nothing_pays_it_says_so(tmp_path):
    rng = np.random.default_rng(0)
    write_store(tmp_path, rng.normal(0, 1, (300, 256)), rng.integers(0, CLASSES, 300))
    answer = answered(job(tmp_path))
    assert "no caches pay: of 300 samples the best would answer" in answer.error
    with pytest.raises(SluiceError, match="no caches pay"):
        answer.built()


def test_samples_of_another_network_are_refused(tmp_path):
    features, answers = taps(100)
    write_store(tmp_path / "narrow", features[:, :200], answers)
    assert "samples of another network" in answered(job(tmp_path / "narrow")).error
    write_store(tmp_path / "classes", features, answers + CLASSES)
    assert "samples of another network" in answered(job(tmp_path / "classes")).error
    assert "is missing" in answered(job(tmp_path / "nothing")).error
    write_store(tmp_path / "own", features, answers)
    assert "narrow: holds samples of another" in answered(job(tmp_path / "own", validation=f"{tmp_path}/narrow")).error


def test_caches_learn_from_the_validation_set_too(tmp_path):
    features, answers = taps(600)
    known, rest = answers < 2, answers >= 2
    write_store(tmp_path / "own", features[known], answers[known])
    write_store(tmp_path / "others", features[rest], answers[rest])
    alone = answered(job(tmp_path / "own", untuned_at=(1,))).built()
    both = answered(job(tmp_path / "own", untuned_at=(1,), validation=str(tmp_path / "others"))).built()
    further = lessons(1.2, 2000, seed=4)
    unseen = further.answers >= 2

    def right(built) -> float:
        said = built.caches[0].look(further.features).distribution.argmax(axis=1)
        return float((said == further.answers)[unseen].mean())

    assert (alone.card.samples, both.card.samples) == (known.sum(), 600)
    assert right(alone) == 0.0, "it never saw them"
    assert right(both) > 0.7


def test_thresholds_have_to_hold_for_the_validation_set_too(tmp_path):
    features, answers = taps(600)
    write_store(tmp_path / "own", features, answers)
    rng = np.random.default_rng(0)
    write_store(tmp_path / "others", features, rng.integers(0, CLASSES, len(answers)))
    assert not answered(job(tmp_path / "own", agreement=0.8)).error
    assert (
        "no caches pay: of 1200 samples"
        in answered(job(tmp_path / "own", agreement=0.8, validation=str(tmp_path / "others"))).error
    )


def test_a_validation_set_that_lies_class_by_class_leaves_no_class_out(tmp_path):
    features, _ = taps(600)
    answers = np.repeat([0, 1, 2, 3], [272, 272, 25, 31])
    write_store(tmp_path / "own", features[:50], np.arange(50) % 2)
    write_store(tmp_path / "others", features, answers)
    shown = _collected(job(tmp_path / "own", validation=str(tmp_path / "others"))).lessons[0].answers
    fold = folds(len(shown))
    for out in range(FOLDS):
        assert set(shown[fold != out].tolist()) == {0, 1, 2, 3}


def test_inputs_of_the_validation_set_count_as_one_each(tmp_path):
    features, answers = taps(300)
    write_store(tmp_path / "own", features[:100], answers[:100])
    write_store(tmp_path / "others", features[100:], answers[100:])
    wanted = job(tmp_path / "own", independent=0.4, validation=str(tmp_path / "others"))
    assert _collected(wanted).independent == pytest.approx((0.4 * 100 + 200) / 300)
    assert _collected(msgspec.structs.replace(wanted, validation="")).independent == pytest.approx(0.4)


def test_what_is_no_answer_is_refused():
    with pytest.raises(ModelError, match="damaged"):
        CachesAnswer(caches="??").built()


def test_lookups_are_timed_by_a_clock():
    ticks = iter(range(1000))
    cache = LearnedCache("layer1", train_predictor("FC(64)", lessons(1.0, 64), np.random.default_rng(0), 0), None, 0.0)
    assert lookup_s(cache, lambda: next(ticks)) == 1


def test_a_lookup_is_timed_as_in_a_worker_on_one_thread():
    threads = set()

    def clock() -> float:
        threads.update(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return 0.0

    cache = LearnedCache("layer1", train_predictor("FC(64)", lessons(1.0, 64), np.random.default_rng(0), 0), None, 0.0)
    lookup_s(cache, clock)
    assert threads == {1}
