from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.streams import Phase, changing, generate, in_runs

PHASES = [Phase(4000, 5, 0.9), Phase(3000), Phase(2000, 2, 0.6)]


def test_every_phase_has_its_skew() -> None:
    stream = generate(np.random.default_rng(0), 100, PHASES)
    assert len(stream.labels) == 9000
    parts = np.split(stream.labels, np.cumsum([phase.length for phase in PHASES])[:-1])
    for number, (phase, labels) in enumerate(zip(PHASES, parts, strict=True)):
        assert len(labels) == phase.length
        assert len(stream.dominant[number]) == phase.dominant
        share = np.isin(labels, list(stream.dominant[number])).mean()
        assert share == pytest.approx(phase.skew, abs=0.03)


def test_classes_are_equally_frequent_among_the_dominant_and_among_the_others() -> None:
    stream = generate(np.random.default_rng(0), 10, [Phase(20_000, 2, 0.8)])
    shares = np.bincount(stream.labels, minlength=10) / 20_000
    for label, share in enumerate(shares):
        assert share == pytest.approx(0.4 if label in stream.dominant[0] else 0.025, abs=0.01)


def test_without_skew_all_classes_are_equally_frequent() -> None:
    stream = generate(np.random.default_rng(0), 10, [Phase(20_000)])
    assert np.bincount(stream.labels, minlength=10) / 20_000 == pytest.approx(np.full(10, 0.1), abs=0.01)
    assert stream.dominant == [frozenset()]


@pytest.mark.parametrize(("classes", "skew"), [(3, 0.5), (5, 1.0)])
def test_the_ends_of_skew(classes: int, skew: float) -> None:
    labels = generate(np.random.default_rng(0), classes, [Phase(100, 3, skew)]).labels
    assert len(set(labels.tolist())) == 3


def test_runs_keep_the_skew_and_last_as_long_as_asked() -> None:
    stream = generate(np.random.default_rng(0), 1000, [Phase(40_000, 5, 0.8)])
    runs = in_runs(np.random.default_rng(1), stream, 8.0)
    assert len(runs.labels) == 40_000
    assert np.isin(runs.labels, list(runs.dominant[0])).mean() == pytest.approx(0.8, abs=0.03)
    stays = (runs.labels[1:] == runs.labels[:-1]).mean()
    assert stays == pytest.approx(1 - (1 - 5 * 0.16**2) / 8, abs=0.01)


def test_runs_of_one_are_the_stream() -> None:
    stream = generate(np.random.default_rng(0), 10, [Phase(50, 2, 0.8)])
    assert (in_runs(np.random.default_rng(1), stream, 1.0).labels == stream.labels).all()


def test_the_seed_decides() -> None:
    one, same, other = (generate(np.random.default_rng(seed), 50, PHASES).labels for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@given(st.integers(0, 20), st.integers(1, 10), st.integers(2, 6))
def test_abrupt_changes_leave_no_dominant_class(seed: int, dominant: int, count: int) -> None:
    stream = changing(np.random.default_rng(seed), 20, Phase(10, dominant, 0.9), count)
    assert len(stream.labels) == 10 * count
    assert all(not one & other for one, other in zip(stream.dominant, stream.dominant[1:], strict=False))


def test_no_more_classes_than_there_are() -> None:
    with pytest.raises(ValueError, match="11 of 10 classes cannot be dominant"):
        generate(np.random.default_rng(0), 10, [Phase(10), Phase(10, 11, 0.9)])


def test_changes_need_room() -> None:
    with pytest.raises(ValueError, match="two sets of 6 dominant classes do not fit into 10 classes"):
        changing(np.random.default_rng(0), 10, Phase(10, 6, 0.9), 2)
