"""Heads are trained on the right rows, and keep their promise on rows that nobody has seen."""

from __future__ import annotations

import numpy as np
import pytest

from specialization.heads.enough import LEAST_OTHERS, LEAST_ROWS
from specialization.heads.head import OTHER
from specialization.heads.train import (
    FOLDS,
    JUDGED_SKEW,
    HeadSamples,
    NoUsefulHead,
    TooFewSamples,
    train_head,
    training_rows,
)
from tests.learning.stores import samples


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_dominant_classes_make_up_the_training_skew_and_others_are_drawn_equally() -> None:
    labels = np.repeat([0, 1, 2, 3, 4], [900, 900, 9000, 900, 20]).astype(np.int32)
    features = np.arange(len(labels))[:, None].astype(np.float32)
    rows = training_rows(HeadSamples(features, labels), (3, 0), 0.6, rng())
    inside = rows.targets < 2
    assert rows.weights.sum() == pytest.approx(1, abs=1e-5)
    assert rows.weights[inside].sum() == pytest.approx(0.6, abs=1e-5)
    from_class = labels[rows.features[:, 0].astype(int)]
    assert set(from_class[rows.targets == 0]) == {3}
    assert set(from_class[rows.targets == 1]) == {0}
    counts = [int((from_class == each).sum()) for each in (1, 2, 4)]
    assert counts == [800, 800, 20], "2 400 rows for three other classes, or all there are"


def test_the_number_of_rows_is_bounded_by_width_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specialization.heads.train.MOST_VALUES", 1200)
    features, labels = samples(3000)
    assert len(training_rows(HeadSamples(features, labels), (0, 1), 0.6, rng()).targets) <= 100


def test_folds_are_runs_of_neighbours() -> None:
    features, labels = samples(400)
    rows = training_rows(HeadSamples(features, labels), (0,), 0.6, rng())
    own = rows.folds[rows.targets == 0]
    assert (np.diff(own) >= 0).all()
    assert set(own) == set(range(FOLDS))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_of_unseen_answers_few_are_wrong(n: int) -> None:
    features, labels = samples(20000, apart=3.5)
    head = train_head(HeadSamples(features[:3000], labels[:3000]), range(n), 0.6, 0.02, rng())
    said, _ = head.decide(features[3000:])
    truth = labels[3000:]
    answered, inside = said != OTHER, truth < n
    # A stream of which four fifths are dominant.
    weights = np.where(inside, JUDGED_SKEW / inside.sum(), (1 - JUDGED_SKEW) / (~inside).sum())
    assert (weights * (said != truth))[answered].sum() / weights[answered].sum() <= 0.025
    assert (~answered)[~inside].mean() == pytest.approx(head.rates.a_out, abs=0.03)
    assert (said == truth)[inside].mean() == pytest.approx(head.rates.a_in, abs=0.03)
    assert head.rates.a_in > 0.5


def test_it_says_its_classes_in_their_own_numbers() -> None:
    features, labels = samples(2000)
    head = train_head(HeadSamples(features, labels), (4, 1), 0.6, 0.05, rng())
    said, _ = head.decide(features)
    assert set(said) == {4, 1, OTHER}


def test_the_same_seed_gives_the_same_head() -> None:
    features, labels = samples(9000)
    one, other = (train_head(HeadSamples(features, labels), (0, 2), 0.6, 0.02, rng()) for _ in range(2))
    assert one.to_bytes() == other.to_bytes()


def test_a_smaller_tolerance_makes_it_say_less() -> None:
    features, labels = samples(4000, apart=2.0)
    strict, lax = (
        train_head(HeadSamples(features, labels), (0, 1), 0.6, tolerance, rng()) for tolerance in (0.01, 0.05)
    )
    assert strict.least_confidence > lax.least_confidence
    assert strict.rates.e_in_out > lax.rates.e_in_out


def test_too_few_rows_of_a_class_or_of_others() -> None:
    features, labels = samples(300, 3)
    labels = np.where(labels == 2, 0, labels)
    labels[: LEAST_ROWS - 1] = 2
    with pytest.raises(TooFewSamples, match=f"class 2 has {LEAST_ROWS - 1} samples"):
        train_head(HeadSamples(features, labels), (0, 2), 0.6, 0.05, rng())
    with pytest.raises(TooFewSamples, match=f"of other classes; a head needs {LEAST_OTHERS}"):
        train_head(HeadSamples(features, labels), (0, 1), 0.6, 0.05, rng())
    with pytest.raises(TooFewSamples, match="class 5 has 0 samples"):
        train_head(HeadSamples(features, labels), (5,), 0.6, 0.05, rng())


def test_classes_that_cannot_be_told_apart_give_no_head() -> None:
    features, labels = samples(2000, apart=0.0)
    with pytest.raises(NoUsefulHead, match="may be wrong"):
        train_head(HeadSamples(features, labels), (0, 1), 0.6, 0.02, rng())


def test_own_rows_weigh_as_much_as_the_training_set() -> None:
    features, labels = samples(2000)
    rows = training_rows(HeadSamples(features, labels, own=200), (0, 1), 0.6, rng())
    inside = rows.targets < 2
    for part, share in ((inside, 0.6), (~inside, 0.4)):
        assert rows.weights[part & rows.own].sum() == pytest.approx(share / 2, abs=1e-5)
        assert rows.weights[part & ~rows.own].sum() == pytest.approx(share / 2, abs=1e-5)
    assert 150 < rows.own.sum() <= 200


def test_a_few_own_rows_weigh_as_any_others() -> None:
    features, labels = samples(2000)
    rows = training_rows(HeadSamples(features, labels, own=20), (0, 1), 0.6, rng())
    assert len(set(rows.weights[rows.targets < 2].tolist())) == 1


def test_own_rows_are_in_every_fold() -> None:
    features, labels = samples(2000)
    rows = training_rows(HeadSamples(features, labels, own=400), (0, 1), 0.6, rng())
    assert set(rows.folds[rows.own]) == set(rows.folds[~rows.own]) == set(range(FOLDS))


def test_a_camera_that_shows_things_differently_is_learnt() -> None:
    features, labels = samples(3000, apart=3.5)
    shifted, seen = samples(3000, apart=3.5, seed=1)
    axes = np.eye(12, dtype=np.float32)
    shifted[seen == 0] += 5 * axes[11] - 3.5 * axes[0]  # here, class 0 looks like nothing in the training set
    joined = np.concatenate([features, shifted[:300]]), np.concatenate([labels, seen[:300]])
    alone = train_head(HeadSamples(features, labels), (0, 1), 0.6, 0.02, rng())
    both = train_head(HeadSamples(*joined, own=300), (0, 1), 0.6, 0.02, rng())
    here = seen[300:] == 0
    found = [(head.decide(shifted[300:][here])[0] == 0).mean() for head in (alone, both)]
    assert found[0] < 0.2
    assert found[1] > 0.7
