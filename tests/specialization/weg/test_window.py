from __future__ import annotations

import numpy as np
import pytest

from benchmarks.weg_parts.simulate import World
from datasets.streams import Phase, generate
from specialization.rates import Rates
from specialization.weg.config import WegConfig
from specialization.weg.state import FALLBACK, HEAD, ORACLE, Source
from specialization.weg.window import AnswerWindow

CONFIG = WegConfig(classes=200, oracle_accuracy=0.7)
PERFECT = WegConfig(classes=1000)
RATES = Rates(0.8, 0.12, 0.85)


def asked(config: WegConfig, answers: list[int]) -> AnswerWindow:
    return AnswerWindow(config, answers, [ORACLE] * len(answers))


def test_dominant_classes_by_the_support_of_the_length() -> None:
    assert asked(PERFECT, [1, 1, 2, 2, 3, *range(10, 35)]).dominant == {1, 2}


def test_an_answer_counts_if_its_class_would_be_dominant_without_it() -> None:
    window = asked(PERFECT, [1, 1, 1, 2, 2, *range(10, 35)])
    assert window.skew({1}) == pytest.approx(3 / 30, abs=1e-3)
    assert window.skew({2}) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("skew", [0.0, 0.3, 0.7, 0.95])
def test_the_skew_of_what_an_erring_oracle_says_has_no_bias(skew: float) -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(60):
        stream = generate(rng, 200, [Phase(500, 3 if skew else 0, skew)])
        world = World(rng, 200, 0.7)
        window = asked(CONFIG, [world.oracle(label) for label in stream.labels[:60].tolist()])
        found.append((window.skew(window.dominant), np.isin(stream.labels[60:], list(window.dominant)).mean()))
    estimated, true = np.mean(found, axis=0)
    assert estimated == pytest.approx(true, abs=0.03)


def under_a_head(rng: np.random.Generator, head: tuple[int, ...], labels: list[int]) -> AnswerWindow:
    world, answers, sources = World(rng, 200, 0.7), [], list[Source]()
    for label in labels:
        said = world.head(label, head, RATES)
        answers.append(world.oracle(label) if said is None else said)
        sources.append(FALLBACK if said is None else HEAD)
    return AnswerWindow(CONFIG, answers, sources, head, RATES)


def test_the_skew_of_what_a_head_says() -> None:
    rng = np.random.default_rng(0)
    stream = generate(rng, 200, [Phase(5000, 4, 0.8)])
    window = under_a_head(rng, tuple(sorted(stream.dominant[0])), stream.labels.tolist())
    assert window.skew(stream.dominant[0]) == pytest.approx(0.8, abs=0.03)


def test_classes_that_a_head_misses_are_seen_by_the_oracle() -> None:
    rng = np.random.default_rng(0)
    stream = generate(rng, 200, [Phase(5000, 6, 0.9)])
    head = tuple(sorted(stream.dominant[0]))[:3]
    window = under_a_head(rng, head, stream.labels.tolist())
    assert window.skew(head) == pytest.approx(0.45, abs=0.03)
    assert window.skew(stream.dominant[0]) == pytest.approx(0.9, abs=0.04)


def test_a_window_of_both() -> None:
    answers, sources = [1] * 20 + [1] * 20, [ORACLE] * 20 + [FALLBACK] * 20
    window = AnswerWindow(PERFECT, answers, sources, (5,), Rates(0.9, 0.0, 1.0))
    assert window.skew({1}) == pytest.approx(1.0)
    assert window.skew({5}) == 0.0
