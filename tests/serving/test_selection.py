from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.errors import BadInput
from serving.selection import Requirements, VariantRecord, record_of, select
from serving.variants.profiles import Fingerprint, Profile


def profile(
    variant: str, latency_ms: dict[int, float], agreement: float = 1.0, accuracy: float | None = None
) -> Profile:
    seconds = {batch: each / 1000 for batch, each in latency_ms.items()}
    return Profile(
        variant=variant,
        model_sha256="0" * 64,
        fingerprint=Fingerprint("a processor", 2, 8, "onnxruntime 1.0"),
        latency_s=seconds,
        latency_p95_s=seconds,
        load_s=0.25,
        memory_bytes=1,
        accuracy=accuracy,
        agreement=agreement,
        items=100,
        data="test",
        data_sha256="0" * 64,
        measured_at="2024-01-01T00:00:00Z",
    )


SLOW = profile("m@onnxruntime-fp32", {1: 10, 4: 20, 16: 100})
FAST = profile("m@openvino-int8", {1: 4, 4: 8, 16: 16}, agreement=0.96, accuracy=0.7)


def record(
    name: str, latency_ms: float = 10.0, load_s: float = 1.0, accuracy: float = 0.9, cost: float = 1.0
) -> VariantRecord:
    return VariantRecord(name, latency_ms / 1000, load_s, accuracy, cost)


def test_a_record_has_the_users_batch_and_the_device_time_of_an_item() -> None:
    found = record_of(SLOW)
    assert (found.id, found.latency_s, found.load_s) == (SLOW.variant, 0.010, 0.25)
    assert found.cost == pytest.approx(0.005)
    assert record_of(FAST).cost == pytest.approx(0.001)
    assert record_of(SLOW, batch=4).latency_s == pytest.approx(0.020)
    assert record_of(SLOW, batch=8).latency_s == pytest.approx(0.020 + 0.080 / 3)


def test_accuracy_is_agreement_with_the_reference() -> None:
    assert record_of(FAST).accuracy == 0.96


def test_profiles_can_be_chosen_from() -> None:
    records = [record_of(SLOW), record_of(FAST)]
    assert select(Requirements(accuracy=0.97), records).variant == SLOW.variant
    assert select(Requirements(latency_s=0.005, accuracy=0.95), records).variant == FAST.variant


def test_the_one_that_is_loaded_and_done_soonest_is_taken() -> None:
    records = [record("quick to load", 50.0, 0.2), record("quick", 5.0, 0.3)]
    assert select(Requirements(), records).variant == "quick to load"
    assert select(Requirements(latency_s=0.010), records).variant == "quick"


def test_the_closest_says_what_it_lacks_and_what_the_best_has() -> None:
    records = [record("fast", 25.0, accuracy=0.8), record("good", 100.0, accuracy=0.95)]
    choice = select(Requirements(latency_s=0.020, accuracy=0.8), records)
    assert (choice.variant, choice.meets) == ("fast", False)
    assert choice.reason == (
        "no variant meets all requirements; of the closest the latency of 25 ms is 5 ms above 20 ms (best: 25 ms)"
    )
    choice = select(Requirements(accuracy=0.99, cost=0.5), records)
    assert choice.variant == "good"
    assert choice.reason.endswith(
        "accuracy of 0.95 is 0.04 below 0.99 (best: 0.95); cost of 1 is 0.5 above 0.5 (best: 1)"
    )


def test_there_must_be_variants() -> None:
    with pytest.raises(BadInput, match="register a model"):
        select(Requirements(), [])


@pytest.mark.parametrize("wrong", [{"latency_s": 0.0}, {"cost": -1.0}, {"accuracy": 97.0}, {"accuracy": float("nan")}])
def test_requirements_must_make_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="accuracy from 0 to 1"):
        Requirements(**wrong)


eighths = st.integers(1, 8).map(lambda number: number / 8)
records = st.lists(st.tuples(eighths, eighths, eighths, eighths), min_size=1, max_size=12).map(
    lambda drawn: [VariantRecord(f"v{number}", *figures) for number, figures in enumerate(drawn)]
)
powers = st.sampled_from([0.125, 0.25, 0.5, 1.0])
requirements = st.builds(Requirements, powers, powers | st.just(0.0), powers | st.just(float("inf")))


@given(records, requirements)
def test_it_meets_the_requirements_where_any_does_and_is_the_soonest_of_those(
    drawn: list[VariantRecord], asked: Requirements
) -> None:
    choice = select(asked, drawn)
    chosen = next(each for each in drawn if each.id == choice.variant)
    meeting = [
        each
        for each in drawn
        if each.latency_s <= asked.latency_s and each.accuracy >= asked.accuracy and each.cost <= asked.cost
    ]
    assert choice.meets == (chosen in meeting) == bool(meeting)
    assert all(chosen.load_s + chosen.latency_s <= each.load_s + each.latency_s for each in meeting)
