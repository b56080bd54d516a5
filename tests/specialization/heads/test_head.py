"""A head says what it was trained for, or that it is something else; its bytes are whole or refused."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load, save

from serving.errors import ModelError
from specialization.heads.head import OTHER, SpecialisedHead
from specialization.rates import Rates
from tests.serving.tensor_files import ODD

RATES = Rates(0.9, 0.08, 0.95)


def head(least_confidence: float = 0.8) -> SpecialisedHead:
    """Classes 4 and 7, told by which of two features is large; without either, other."""
    weights = np.array([[4, 0, 0], [0, 4, 0]], np.float32)
    return SpecialisedHead((4, 7), weights, np.array([0, 0, 2], np.float32), least_confidence, RATES)


def test_it_names_its_classes_and_says_other_where_it_is_not_sure() -> None:
    classes, confidence = head().decide(np.array([[2, 0], [0, 2], [0, 0], [1, 1]], np.float16))
    assert classes.tolist() == [4, 7, OTHER, OTHER]
    assert (confidence > 0.8).tolist() == [True, True, False, False]
    assert confidence.dtype == np.float32


def test_a_lower_threshold_lets_it_say_more() -> None:
    unsure = np.array([[1.0, 0.9]])
    assert head(0.9).decide(unsure)[0].tolist() == [OTHER]
    assert head(0.4).decide(unsure)[0].tolist() == [4]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_no_numbers_are_other(value: float) -> None:
    classes, confidence = head().decide(np.array([[value, value]]))
    assert classes.tolist() == [OTHER]
    assert np.isfinite(confidence).all()


def test_nothing_is_decided_of_nothing() -> None:
    classes, confidence = head().decide(np.zeros((0, 2), np.float32))
    assert (len(classes), len(confidence)) == (0, 0)


def test_it_survives_its_bytes() -> None:
    again = SpecialisedHead.from_bytes(head().to_bytes())
    assert (again.classes, again.least_confidence, again.rates) == ((4, 7), 0.8, RATES)
    np.testing.assert_array_equal(again.weights, head().weights)
    np.testing.assert_array_equal(again.bias, head().bias)


def changed(**tensors: object) -> bytes:
    content = load(head().to_bytes()) | tensors
    data: bytes = save({name: value for name, value in content.items() if value is not None})
    return data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        head().to_bytes()[:-3],
        changed(bias=None),
        changed(more=np.zeros(1)),
        changed(bias=np.zeros(4, np.float32)),
        changed(weights=np.zeros((2, 3))),
        changed(weights=np.full((2, 3), np.nan, np.float32)),
        changed(classes=np.array([4, 7], np.int32)),
        changed(rates=np.zeros(2)),
        changed(weights=np.zeros((), np.float32)),
    ],
    ids=["empty", "cut", "missing", "more", "bias", "type", "nan", "classes", "rates", "scalar"],
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="damaged"):
        SpecialisedHead.from_bytes(data)


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_tensors_of_other_types_or_odd_shapes_are_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="a specialised head is damaged: "):
        SpecialisedHead.from_bytes(data)


def test_many_names_are_not_all_told() -> None:
    with pytest.raises(ModelError, match="it has a") as raised:
        SpecialisedHead.from_bytes(save({"a" * 5000: np.zeros(1)}))
    assert len(str(raised.value)) < 400
