"""A network that doubts is a base like any other, and its int8 variant doubts as it does."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from datasets.street import street_crops
from serving.catalogue.lookup import SHIPPED, Catalogue, read_weights
from serving.graphs.fold import is_exact
from serving.graphs.quantise import quantised
from serving.preprocess import batch
from specialization.kit.base import certain
from tests.serving.graphs.onnx_graphs import run

ENTRY = Catalogue([SHIPPED]).find("street-kind")


def test_without_doubts_it_says_the_same_as_surely_or_more() -> None:
    model = read_weights(ENTRY.path, ENTRY.card)
    plain = certain(model)
    assert any(is_exact(node) for node in model.graph.node)
    assert not any(is_exact(node) for node in plain.graph.node)
    items = batch(ENTRY.card.input, list(street_crops(5, 16, 64)[0]))[0]
    doubtful, sure = run(model, items), run(plain, items)
    assert (doubtful.argmax(axis=1) == sure.argmax(axis=1)).all()
    assert (np.abs(doubtful) <= np.abs(sure) + 1e-5).all()


def test_the_int8_variant_doubts_by_the_same_numbers() -> None:
    model = read_weights(ENTRY.path, ENTRY.card)
    items = batch(ENTRY.card.input, list(street_crops(5, 16, 64)[0]))[0]
    exact = {
        each.name: numpy_helper.to_array(each) for each in model.graph.initializer if each.name.startswith("exact/")
    }
    made = {each.name: numpy_helper.to_array(each) for each in quantised("street-kind", model, items).graph.initializer}
    assert exact
    for name, values in exact.items():
        np.testing.assert_array_equal(made[name], values)
