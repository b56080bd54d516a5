"""Samples are packed to one row of numbers, and taken apart again, whatever it holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import FOLDS, MOST_WEIGHT, ExitRows, RowLayout
from serving.errors import ModelError
from tests.cache_adapt.learned.taught import SPEC, in_folds, samples

LAYOUT = SPEC.layout


def test_what_is_packed_is_unpacked():
    rows = in_folds(samples(50))
    weights = np.where(np.arange(50) % 7, 1.0, 20.0).astype(np.float32)
    packed = LAYOUT.packed(replace(rows, weights=weights))
    assert packed.dtype == np.float16
    assert packed.shape == (50, LAYOUT.dims)
    found = LAYOUT.unpacked(packed, rows.words)
    for one, other in zip(found.taps, rows.taps, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3)
        assert one.dtype == np.float32
    np.testing.assert_allclose(found.shares, rows.shares, atol=1e-3)
    assert found.weights.tolist() == weights.tolist()
    assert found.words.tolist() == rows.words.tolist()
    assert found.folds is not None
    assert found.folds.tolist() == (np.arange(50) % FOLDS).tolist()


def test_some_of_the_rows_are_the_same_rows():
    rows = samples(50)
    newest = rows.newest(10)
    assert len(newest) == 10
    np.testing.assert_array_equal(newest.taps[1], rows.taps[1][-10:])
    assert len(rows.newest(100)) == 50
    assert newest.folds is None


def test_folds_go_with_their_rows():
    rows = in_folds(samples(7))
    last, rest = rows.newest(3), rows.of(rows.folds != 1)
    assert last.folds is not None
    assert rest.folds is not None
    assert (last.folds.tolist(), rest.folds.tolist()) == ([1, 2, 0], [0, 2, 0, 2, 0])
    np.testing.assert_array_equal(rest.taps[0], rows.taps[0][[0, 2, 3, 5, 6]])
    both = ExitRows.joined([rows, last])
    assert both.folds is not None
    assert both.folds.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert ExitRows.joined([samples(2), samples(3)]).folds is None


def packed(count: int = 3) -> np.ndarray:
    rows = in_folds(samples(count))
    return LAYOUT.packed(rows)


@pytest.mark.parametrize("words", [[0, 4, 5], [-1, 0, 4], [0, 99_999, 4]], ids=str)
def test_samples_whose_words_are_not_the_recognisers_are_left_out(words):
    rows, known = packed(), [each in range(5) for each in words]
    found, kept = (LAYOUT.unpacked(*each) for each in ((rows, np.array(words)), (rows[known], np.array(words)[known])))
    assert found.words.tolist() == kept.words.tolist() == [each for each in words if each in range(5)]
    for mine, right in zip((*found.taps, found.shares), (*kept.taps, kept.shares), strict=True):
        np.testing.assert_array_equal(mine, right)
    assert len(LAYOUT.unpacked(rows, np.full(3, 5))) == 0


def test_rows_of_another_length_and_no_numbers_are_refused():
    with pytest.raises(ModelError, match="are not the"):
        LAYOUT.unpacked(packed()[:, 1:], np.zeros(3, int))
    with pytest.raises(ModelError):
        LAYOUT.unpacked(packed(), np.zeros(2, int))
    for wrong in (np.nan, np.inf):
        rows = packed()
        rows[1, 2] = wrong
        with pytest.raises(ModelError, match="no numbers"):
            LAYOUT.unpacked(rows, np.zeros(3, int))


def test_weights_shares_and_folds_of_strangers_are_bounded():
    rows = packed()
    rows[:, -1], rows[:, -2], rows[:, -3] = [-3, 1, 60000], [-5, 0, 60000], 7
    found = LAYOUT.unpacked(rows, np.zeros(3, int))
    assert found.folds is not None
    assert found.folds.tolist() == [0, 1, FOLDS - 1]
    assert (found.weights > 0).all()
    assert found.weights.max() <= MOST_WEIGHT
    assert found.shares.max() <= 1


def test_no_rows_are_rows():
    assert len(RowLayout((2,), 3).unpacked(np.zeros((0, 7), np.float16), np.zeros(0, int))) == 0


def test_objects_go_with_their_rows():
    rows = replace(samples(4), shown=ShownLooks.of(["a", "b", "c", "d"]))
    some = rows.of(np.array([True, False, True, False]))
    both = ExitRows.joined([rows.newest(1), some])
    assert some.shown is not None
    assert both.shown is not None
    assert (some.shown.objects, both.shown.objects) == (["a", "c"], ["d", "a", "c"])
    assert len(both.shown.weights) == len(both.shown.whole) == 3
    assert samples(4).of(slice(2)).shown is None


def test_what_is_kept_takes_two_bytes_for_each_value_and_is_read_as_before():
    rows = replace(samples(5), weights=np.full(5, 20, np.float32))
    kept = rows.kept()
    assert [tap.dtype for tap in kept.taps] == [np.float16] * len(rows.taps)
    assert kept.weights.tolist() == [1.0] * 5
    (read,) = kept.at([1]).taps
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, rows.taps[1], rtol=1e-3, atol=1e-3)
