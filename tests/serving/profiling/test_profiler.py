from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from serving.catalogue.lookup import Entry
from serving.common.tensors import Array
from serving.engines.engine import Engine, resident_bytes
from serving.errors import ModelError, SluiceError
from serving.loading.opening import engine_for
from serving.profiling.agreement import right_class, same_class
from serving.profiling.footprint import Footprint, footprint
from serving.profiling.profiler import ComparedItems, Profiler
from serving.variants.artefacts import Calibration, build
from serving.variants.profiles import fingerprint
from serving.variants.variant import Variant, reference
from tests.serving.graphs.onnx_graphs import classifier, entry, graph, pictures, run

ITEMS = pictures(40, seed=3)


@pytest.fixture
def small(tmp_path: Path) -> Entry:
    return entry(tmp_path / "models", classifier(width=32))


def comparison(items: Array = ITEMS) -> ComparedItems:
    truth = run(classifier(width=32), items).argmax(axis=1)
    truth[:10] = (truth[:10] + 1) % 3
    return ComparedItems(items, same_class, partial(right_class, truth.tolist()), "noise", "f" * 64)


def files(small: Entry, cache: Path, *variants: Variant) -> dict[Variant, Path]:
    return {each: build(small, each, cache, Calibration(pictures(16), "f" * 64)) for each in variants}


def test_variants_are_measured_and_compared_with_the_reference(small: Entry, tmp_path: Path) -> None:
    first, int8 = reference("small"), Variant("small", "onnxruntime", "int8")
    told: list[tuple[str, float]] = []
    profiler = Profiler(small, comparison(), 4, 0.01, lambda what, share: told.append((what, share)))
    outcome = profiler.measure(files(small, tmp_path, first, int8))
    whole, worse = outcome.profiles
    assert (whole.variant, worse.variant) == (first.id, int8.id)
    assert (whole.agreement, whole.accuracy) == (1.0, 0.75)
    assert worse.agreement <= 1.0
    assert list(whole.latency_s) == list(whole.latency_p95_s) == [1, 2, 4]
    assert all(0 < whole.latency_s[size] <= whole.latency_p95_s[size] for size in whole.latency_s)
    assert whole.load_s > 0
    assert (whole.items, whole.data, whole.data_sha256) == (40, "noise", "f" * 64)
    assert whole.stale(small.card.sha256, fingerprint("onnxruntime")) == []
    assert {what for what, _ in told} == {"answers", "latency", "memory"}
    assert all(0 <= share <= 1 for _, share in told)


def test_what_cannot_be_opened_here_is_skipped_with_the_reason(small: Entry) -> None:
    impossible = Variant("small", "onnxruntime", "bf16")
    outcome = Profiler(small, comparison(), 1, 0.01).measure({impossible: small.path})
    assert outcome.profiles == []
    assert "bf16" in outcome.skipped[impossible]


def test_a_network_that_its_variants_cannot_be_compared_with_says_why(
    small: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(variant: Variant, threads: int) -> Engine:
        if variant == reference("small"):
            raise ModelError("small: no such operator")
        return engine_for(variant, threads)

    monkeypatch.setattr("serving.profiling.contenders.engine_for", refuse)
    chosen = files(small, tmp_path, Variant("small", "onnxruntime", "int8"))
    with pytest.raises(ModelError, match="no such operator"):
        Profiler(small, comparison(), 1, 0.01).measure(chosen)


def test_without_labels_there_is_no_accuracy(small: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serving.profiling.profiler.footprint", lambda *_: Footprint(0.5, 7))
    unlabelled = ComparedItems(ITEMS[:2], same_class, None, "noise", "f" * 64)
    (only,) = Profiler(small, unlabelled, 1, 0.01).measure({reference("small"): small.path}).profiles
    assert only.accuracy is None
    assert (only.load_s, only.memory_bytes) == (0.5, 7)


def test_memory_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(0, 1, (192, 50_000)).astype(np.float32)
    nodes = [helper.make_node("Flatten", ["images"], ["x"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    heavy = entry(tmp_path / "models", graph(nodes, {"w": weights}, ["N", 3, 8, 8], "y"), "heavy")
    for _ in range(10):  # threads of earlier tests may take memory meanwhile
        before = resident_bytes()
        measured = footprint(reference("heavy"), heavy.path, 1, 2)
        grown = resident_bytes() - before
        if grown < 0.5 * weights.nbytes:
            break
    assert 0.9 * weights.nbytes < measured.memory_bytes < 3 * weights.nbytes
    assert measured.load_s > 0
    assert grown < 0.5 * weights.nbytes


def test_the_memory_of_a_graph_of_any_size_is_measured_at_its_card_s(tmp_path: Path) -> None:
    pool = helper.make_node("AveragePool", ["images"], ["y"], kernel_shape=[4, 4])
    small = entry(tmp_path / "models", graph([pool], {}, ["N", 3, "height", "width"], "y"), "small")
    with pytest.raises(SluiceError):  # of a picture of one pixel there is nothing to pool
        footprint(reference("small"), small.path, 1, 2)
    assert footprint(reference("small"), small.path, 1, 2, (3, 8, 8)).load_s > 0
