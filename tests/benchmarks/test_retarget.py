"""The benchmark asks for heads that can be trained, and counts what they are compared with; no clock is asserted on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks import retarget
from benchmarks.retarget import TEMPLATE, Case, draw, headline, row, synthetic
from learning.store import FeatureStore
from specialization.trainer.job import train


def test_jobs_are_for_classes_that_the_store_has() -> None:
    labels = FeatureStore.open(TEMPLATE).labels
    jobs = [Case("vehicle-type", TEMPLATE, 3).job(seed) for seed in range(5)]
    assert all(set(job.classes) <= set(labels.tolist()) and len(set(job.classes)) == 3 for job in jobs)
    assert len({job.classes for job in jobs}) > 1


def test_heads_of_the_synthetic_store_are_of_use(tmp_path: Path) -> None:
    synthetic(tmp_path)
    store = FeatureStore.open(tmp_path)
    assert store.features.shape == (retarget.ROWS, retarget.DIMS)
    assert len(np.unique(store.labels)) == retarget.CLASSES
    assert train(Case("100 classes", tmp_path, 1).job(1)).rates.a_in > 0.5


def test_the_baseline_forwards_as_many_pictures_as_there_are_rows() -> None:
    case = Case("vehicle-type", TEMPLATE, 2)
    found = row(case, {case: [0.2, 0.1, 0.4], None: [0.002, 0.001, 0.004]})
    assert (found["retarget_s"], found["slowest_s"]) == (0.2, 0.4)
    assert found["forward_s"] == round(found["rows"] * 0.002, 3)
    assert found["without_store_s"] == round(found["rows"] * 0.002 + 0.2, 3)
    assert 1000 < found["rows"] <= 6000


def test_the_headline_has_the_largest_number_of_classes() -> None:
    rows = [
        {"store": name, "n": n, "rows": 10, "dims": 4, "retarget_s": n / 10, "without_store_s": 2.0, "ratio": 20 / n}
        for name in ("vehicle-type", "100 classes")
        for n in (1, 4)
    ]
    assert headline(rows, 0.95) == {
        "retarget_s": {"vehicle-type": 0.4, "100 classes": 0.4},
        "n": {"vehicle-type": 4, "100 classes": 4},
        "speedup_over_forwarding": {"vehicle-type": 5.0, "100 classes": 5.0},
        "first_job_s": 0.95,
    }
    draw(Figure(), rows)
