"""Rules replayed on made-up frames, and the headline."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.skipping import headline
from benchmarks.skipping_parts.replay import EveryNth, Gate, Needed, replay
from operators.frames.frame import Frame
from operators.testing.builders import make_frame, make_region


def still(count: int) -> list[Frame]:
    image = np.random.default_rng(1).integers(0, 255, (90, 160, 3), np.uint8)
    return [make_frame(seq, seq / 10, image) for seq in range(count)]


def test_on_a_still_picture_all_rules_agree_and_ours_and_the_gate_hardly_detect() -> None:
    known = [[make_region()] for _ in range(12)]
    nth = replay(still(12), known, EveryNth(3), 0.45)
    assert (nth["detected"], nth["agreement"], nth["recall"], nth["precision"]) == (0.3333, 1.0, 1.0, 1.0)
    assert replay(still(12), known, Gate(), 0.45)["detected"] == 0.0833
    assert replay(still(12), known, Needed(3), 0.45)["detected"] == 0.0833


def test_an_object_that_a_rule_misses_costs_recall_and_one_that_stays_too_long_precision() -> None:
    appears = replay(still(4), [[], [make_region()], [make_region()], [make_region()]], EveryNth(4), 0.45)
    assert (appears["recall"], appears["precision"], appears["count_error"]) == (0.0, 1.0, 0.75)
    leaves = replay(still(4), [[make_region()], [], [], []], EveryNth(4), 0.45)
    assert (leaves["recall"], leaves["precision"], leaves["agreement"]) == (1.0, 0.25, 0.25)


def test_the_headline_compares_at_equal_detections() -> None:
    def row(rule: str, setting: int, detected: float, agreement: float) -> dict[str, object]:
        figures = {"detected": detected, "agreement": agreement, "own_ms": 1.0, "detector_ms": 20.0}
        return {"clip": "yard", "rule": rule, "setting": setting, **figures}

    rows = [row("every n-th", 2, 0.5, 0.9), row("every n-th", 4, 0.25, 0.8), row("needed", 3, 0.375, 0.95)]
    said = headline(rows)
    assert said["agreement_gained"] == pytest.approx(0.1)
    assert said["detected"] == {"yard": 0.375}
    assert said["own_share"] == 0.05
