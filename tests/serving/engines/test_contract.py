"""The contract of every engine, whatever runs inside."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.common.tensors import Array
from serving.engines.engine import Engine
from serving.errors import ModelError
from tests.serving.engines.kinds import KINDS, Kind, items, reference

LARGEST = 17


@pytest.fixture(params=KINDS, ids=str, scope="module")
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(scope="module")
def engine(kind: Kind) -> Iterator[Engine]:
    """With the network in three segments."""
    engine = kind.load(kind.segments(2))
    yield engine
    engine.close()


def through(engine: Engine, batch: Array) -> Array:
    for segment in range(len(engine.inputs)):
        batch = engine.run(segment, batch)[0]
    return batch


def error_of(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / np.ptp(wanted))


def test_the_whole_answers_as_the_reference_does(kind: Kind) -> None:
    engine = kind.load(kind.segments(0))
    assert len(engine.inputs) == 1
    answers = through(engine, items(LARGEST))
    assert answers.dtype == np.float32
    assert error_of(answers, reference(items(LARGEST))) <= kind.tolerance


def test_segments_compose_to_the_whole(kind: Kind, engine: Engine) -> None:
    assert len(engine.inputs) == 3
    assert error_of(through(engine, items(LARGEST)), reference(items(LARGEST))) <= kind.tolerance


@pytest.mark.parametrize("reduced", [kind for kind in KINDS if kind.precision != "fp32"], ids=str)
def test_reduced_precision_is_not_the_reference_itself(reduced: Kind) -> None:
    engine = reduced.load(reduced.segments(0))
    assert error_of(through(engine, items(LARGEST)), reference(items(LARGEST))) > 1e-4


def test_every_segment_says_what_it_takes(engine: Engine) -> None:
    batch = items(3)
    for segment, spec in enumerate(engine.inputs):
        assert spec.dtype == batch.dtype
        assert spec.shape == (None, *batch.shape[1:])
        batch = engine.run(segment, batch)[0]
    assert batch.shape == (3, 5)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(1, LARGEST), seed=st.integers(0, 9))
def test_a_batch_answers_as_its_items_do(kind: Kind, engine: Engine, count: int, seed: int) -> None:
    batch = items(count, seed)
    one_by_one = np.concatenate([through(engine, batch[index : index + 1]) for index in range(count)])
    assert error_of(through(engine, batch), one_by_one) <= kind.tolerance


def test_an_empty_batch_has_empty_answers(engine: Engine) -> None:
    for segment in range(3):
        full = engine.run(segment, np.zeros((2, *engine.inputs[segment].shape[1:]), np.float32))
        none = engine.run(segment, np.zeros((0, *engine.inputs[segment].shape[1:]), np.float32))
        assert [(each.shape, each.dtype) for each in none] == [((0, *each.shape[1:]), each.dtype) for each in full]


@pytest.mark.parametrize(
    ("batch", "given"),
    [
        (np.zeros((2, 3, 16, 17), np.float32), "float32 2 × 3 × 16 × 17"),
        (np.zeros((0, 3, 16, 17), np.float32), "float32 0 × 3 × 16 × 17"),
        (np.zeros((2, 1, 16, 16), np.float32), "float32 2 × 1 × 16 × 16"),
        (np.zeros((3, 16, 16), np.float32), "float32 3 × 16 × 16"),
        (np.zeros((2, 3, 16, 16), np.float64), "float64 2 × 3 × 16 × 16"),
        (np.zeros((2, 3, 16, 16), np.uint8), "uint8 2 × 3 × 16 × 16"),
    ],
)
def test_another_shape_or_type_is_refused(engine: Engine, batch: Array, given: str) -> None:
    with pytest.raises(ModelError) as caught:
        engine.run(0, batch)
    assert str(caught.value) == f"model 'net', segment 0 takes float32 N × 3 × 16 × 16, was given {given}"


def test_the_batch_is_left_as_it_was_and_may_lie_anyhow_in_memory(engine: Engine) -> None:
    batch = -np.abs(items(6))
    batch.flags.writeable = False
    before, wanted = batch.copy(), through(engine, batch[::2].copy())
    np.testing.assert_array_equal(through(engine, batch[::2]), wanted)
    turned = np.ascontiguousarray(batch.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(through(engine, turned), through(engine, batch))
    np.testing.assert_array_equal(batch, before)


def test_answers_stay_when_the_engine_runs_again(engine: Engine) -> None:
    first = [engine.run(0, items(2))[0] for _ in range(2)]
    kept = first[0].copy()
    first[1][:] = 0
    engine.run(0, items(2, seed=1))
    np.testing.assert_array_equal(first[0], kept)


def test_many_threads_get_their_own_answers(kind: Kind, engine: Engine) -> None:
    sizes = np.random.default_rng(0).integers(0, 6, 60)
    batches = [items(int(size), seed) for seed, size in enumerate(sizes)]
    wanted = [through(engine, batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda batch: through(engine, batch), batches))
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=kind.tolerance)


def test_a_closed_engine_refuses_work(kind: Kind) -> None:
    engine = kind.load(kind.segments(0))
    engine.close()
    with pytest.raises(ModelError, match=r"^model 'net' is closed$"):
        engine.run(0, items(1))
    engine.close()
    assert engine.memory_bytes() == 0


def test_closing_lets_the_runs_under_way_end(kind: Kind) -> None:
    engine = kind.load(kind.segments(0))
    wanted = through(engine, items(4))

    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(through, engine, items(4)) for _ in range(200)]
        answers[20].result()
        engine.close()
        errors = [answer.exception() for answer in answers]
    assert errors[0] is None
    assert {str(error) for error in errors} <= {"None", "model 'net' is closed"}
    np.testing.assert_allclose(answers[0].result(), wanted, atol=1e-3)


def test_an_engine_without_a_network_refuses_work(kind: Kind) -> None:
    engine = kind.make()
    assert not engine.inputs
    with pytest.raises(ModelError, match=r"^model 'net' is not loaded$"):
        engine.run(0, items(1))
    engine.close()
