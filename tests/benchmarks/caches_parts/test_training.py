"""Predictors and selectors: what they learn, their gradients, and that serving says what training meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.caches_parts import training
from benchmarks.caches_parts.forms import EXPLORED, FORMS, Pooling, form, shape_read
from benchmarks.caches_parts.predictor import Predictor
from benchmarks.caches_parts.selector import largest
from benchmarks.caches_parts.training import Lessons, _begun, _slopes, train_predictor, train_selector
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.tensors import softmax
from serving.errors import ModelError
from serving.graphs.taps import MOST_VALUES
from tests.benchmarks.caches_parts.made import CLASSES, GRID, lessons


@pytest.mark.parametrize("name", EXPLORED)
def test_every_form_learns_what_can_be_learnt(name):
    known, further = lessons(0.8, seed=1), lessons(0.8, seed=2)
    predictor = train_predictor(name, known, np.random.default_rng(0))
    said = predictor.probabilities(further.features).argmax(axis=1)
    assert (said == further.words).mean() > 0.9


def doubtful() -> Lessons:
    """Four inputs of three labels, of which the last names nothing; two of them are unknown."""
    shares = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.4, 0.1], [0.1, 0.0, 0.9]], np.float32)
    return Lessons.of(np.zeros((4, 1), np.float32), (1, 1, 1), shares, Vocabulary(3, 0.7, nameless=(2,)))


def test_unknown_is_a_word_that_is_learnt_like_any_other():
    known = doubtful()
    assert known.words.tolist() == [0, 1, 3, 3]
    assert known.seen == (0, 1, 3)
    np.testing.assert_allclose(known.wanted, [[0.95, 0.05, 0], [0.1, 0.9, 0], [0, 0, 1], [0, 0, 1]], atol=1e-6)
    said = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.9, 0.1, 0]], np.float32)
    assert known.right(said).tolist() == [True, False, True, False]
    some = known.rows(np.array([False, True, True, True]))
    assert some.seen == known.seen
    assert some.right(said[1:]).tolist() == [False, True, False]


def test_distributions_teach_as_answers_do():
    known, further = lessons(1.2, soft=True), lessons(1.2, seed=2)
    said = train_predictor("FC(64)", known, np.random.default_rng(0)).probabilities(further.features)
    assert (said.argmax(axis=1) == further.words).mean() > 0.9
    assert said.max(axis=1).mean() < 0.985  # the teacher is .94 sure of half of what is wanted


@pytest.mark.parametrize("hidden", [True, False])
def test_gradients_are_those_of_the_loss(hidden):
    rng = np.random.default_rng(1)
    pieces = rng.normal(0, 1, (5, 2, 3))
    layers = [_begun(3, 4, rng)] if hidden else []
    layers.append(_begun(8 if hidden else 6, 3, rng))
    layers = [tuple(part.astype(np.float64) for part in layer) for layer in layers]
    wanted = softmax(rng.normal(0, 1, (5, 3)))

    def loss():
        inside = np.maximum(pieces @ layers[0][0] + layers[0][1], 0) if hidden else pieces
        said = softmax(inside.reshape(5, -1) @ layers[-1][0] + layers[-1][1])
        return -(wanted * np.log(said)).sum(axis=1).mean()

    slopes = _slopes(layers, pieces, wanted, None)
    for part, slope in zip([part for layer in layers for part in layer], slopes, strict=True):
        for place in list(np.ndindex(part.shape))[:6]:
            kept = part[place]
            part[place] = kept + 1e-5
            above = loss()
            part[place] = kept - 1e-5
            below = loss()
            part[place] = kept
            assert slope[place] == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_decay_lets_more_further_inputs_be_answered_at_the_same_agreement(monkeypatch):
    known, further = lessons(1.8, count=300), lessons(1.8, count=3000, seed=2)

    def answered() -> float:
        said = train_predictor("FC(64)", known, np.random.default_rng(0)).probabilities(further.features)
        surest = np.argsort(largest(said))
        wrong = np.cumsum((said.argmax(axis=1) != further.words)[surest])
        return np.searchsorted(wrong, 0.03 * 3000, side="right") / 3000

    decayed = answered()
    monkeypatch.setattr(training, "DECAY", 0.0)
    assert decayed > answered() + 0.03


def test_standardisation_is_folded_into_the_weights():
    known = lessons(1.2)
    shifted = replace(known, features=known.features * 100 + 7)
    plain = train_predictor("Pool(128)", known, np.random.default_rng(0))
    scaled = train_predictor("Pool(128)", shifted, np.random.default_rng(0))
    np.testing.assert_allclose(plain.probabilities(known.features), scaled.probabilities(shifted.features), atol=0.02)


def test_what_is_no_number_is_never_sure():
    predictor = train_predictor("FC(64)", lessons(1.2), np.random.default_rng(0))
    broken = np.full((2, 128), np.nan, np.float32)
    assert (predictor.probabilities(broken) == 0).all()
    assert (largest(predictor.probabilities(broken)) == 1).all()


def test_a_selector_lets_fewer_wrong_predictions_through_than_right_ones():
    rng = np.random.default_rng(0)
    right = rng.random(2000) < 0.8
    sure = np.where(right, rng.beta(8, 2, 2000), rng.beta(4, 4, 2000))
    distribution = np.stack([sure, *[(1 - sure) / 3] * 3], axis=1).astype(np.float32)
    errors = train_selector(distribution[:1000], right[:1000], rng).errors(distribution[1000:])
    passed = errors < 0.5
    assert right[1000:][passed].mean() > 0.93
    assert 0 < passed.mean() < 0.9


def test_pooling_is_a_mean_over_blocks_of_at_most_so_many_values():
    activations = np.arange(2 * 4 * 4, dtype=np.float32).reshape(1, 2, 4, 4)
    np.testing.assert_array_equal(
        Pooling(8).pieces(activations)[0, 0], activations.reshape(1, 2, 2, 2, 2, 2).mean(axis=(3, 5)).ravel()
    )
    assert Pooling(3).pieces(activations).shape == (1, 1, 2)
    assert Pooling(40).pieces(activations).shape == (1, 1, 32)
    assert Pooling(1).shape((2, 4, 4)) is None


def test_a_convolution_reads_every_window():
    assert form("Conv(3,1)").pieces(np.zeros((2, 8, 4, 4), np.float32)).shape == (2, 4, 72)
    assert form("Conv(2,2)").pieces(np.zeros((2, 8, 4, 4), np.float32)).shape == (2, 4, 32)
    assert form("Conv(5,2)").shape(GRID) is None


@given(
    st.sampled_from(["FC(64)", "Pool(512)", "Pool(7)", "Conv(1,1)", "Conv(2,3)", "Conv(3,1)", "Conv(5,2)"]),
    st.tuples(st.integers(1, 9), st.integers(1, 12), st.integers(1, 12)),
)
def test_shapes_are_computed_as_they_come_out(name, grid):
    shape = form(name).shape(grid)
    if shape is not None:
        assert form(name).pieces(np.zeros((1, *grid), np.float32)).shape == (1, *shape)
    assert shape_read(name, grid) == shape


@pytest.mark.parametrize(("name", "grid"), [("Conv(128,1)", (1, 256, 256)), ("FC(64)", (2, 256, 256))])
def test_a_form_does_not_read_what_would_be_too_much(name, grid):
    assert form(name).shape(grid) is not None
    assert shape_read(name, grid) is None


@pytest.mark.parametrize("name", EXPLORED)
def test_whatever_is_explored_can_read_all_that_a_place_may_have(name):
    for grid in ((MOST_VALUES, 1, 1), (2, 32, 32), (32, 8, 8)):
        assert shape_read(name, grid) == form(name).shape(grid)


@pytest.mark.parametrize("name", ["FC", "FC()", "FC(1,2)", "Conv(3)", "Tree(3)", "FC(0)", "FC(99999)", "FC(4)x"])
def test_other_names_are_refused(name):
    with pytest.raises(ModelError, match="predictor"):
        form(name)


def test_another_form_is_registered_by_its_name(monkeypatch):
    class Mean:
        hidden = None

        def shape(self, grid):
            return 1, grid[0]

        def pieces(self, activations):
            return activations.mean(axis=(2, 3))[:, None, :]

    monkeypatch.setitem(FORMS, "Mean", lambda size: Mean())
    form.cache_clear()
    found = train_predictor("Mean(1)", lessons(1.0), np.random.default_rng(0))
    assert isinstance(found, Predictor)
    assert found.output[0].shape == (8, CLASSES)
    form.cache_clear()
