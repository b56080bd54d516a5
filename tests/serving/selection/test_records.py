from __future__ import annotations

import pytest

from serving.scheduling.health import State
from serving.selection.records import record_of, saturation_items_per_s
from serving.selection.select import select
from serving.selection.table import Requirements, VariantTable
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


def test_the_peak_is_that_of_the_best_batch() -> None:
    assert saturation_items_per_s(SLOW) == pytest.approx(200)
    assert saturation_items_per_s(FAST) == pytest.approx(1000)


def test_a_record_has_the_users_batch_and_the_device_time_of_an_item() -> None:
    record = record_of(SLOW)
    assert (record.id, record.latency_s, record.load_s, record.state) == (SLOW.variant, 0.010, 0.25, State.INACTIVE)
    assert record.cost == pytest.approx(0.005)
    assert record_of(SLOW, batch=4).latency_s == pytest.approx(0.020)
    assert record_of(SLOW, batch=8).latency_s == pytest.approx(0.020 + 0.080 / 3)


def test_a_price_makes_an_engine_dear() -> None:
    assert record_of(FAST, price_per_s=16.0).cost == pytest.approx(0.016)


def test_accuracy_is_agreement_with_the_reference() -> None:
    assert record_of(FAST).accuracy == 0.96


def test_profiles_can_be_chosen_from() -> None:
    table = VariantTable([record_of(SLOW, state=State.ACTIVE, load=0.5), record_of(FAST)])
    assert select(Requirements(accuracy=0.97), table).variant == SLOW.variant
    assert select(Requirements(latency_s=0.005, accuracy=0.95), table).variant == FAST.variant
