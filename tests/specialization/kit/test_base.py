"""A network that doubts is a base like any other, and its int8 variant doubts as it does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from datasets.street import street_crops
from serving.catalogue.lookup import SHIPPED, Catalogue, read_weights
from serving.errors import ModelError
from serving.graphs.fold import folded, is_exact
from serving.graphs.quantise import quantised
from serving.preprocess import batch
from specialization.kit.base import Base, certain
from tests.models import save_graph, write_card
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


def based_on(folder: Path, kind: type[np.floating], **card: object) -> Base:
    """A network whose last layer is called as it is where many are made, and as ours."""
    (folder / "m").mkdir()
    ours = np.zeros((48, 3), kind), np.zeros(3, kind)
    nodes = [
        helper.make_node("Flatten", ["images"], ["features"]),
        helper.make_node("Gemm", ["features", "head.weight", "head.bias"], ["y"]),
    ]
    constants = {"head.weight": ours[0], "head.bias": ours[1]}
    element = TensorProto.FLOAT if kind is np.float32 else TensorProto.FLOAT16
    save_graph(folder / "m" / "net.onnx", nodes, {"y": ["N", 3]}, constants=constants, dtype=element)
    write_card(folder / "m", **card)
    return Base.of(Catalogue([folder]).find("m"))


@pytest.mark.parametrize("made", [0, 1], ids=["theirs", "ours"])
def test_a_last_layer_may_have_the_name_of_the_one_that_takes_its_place(tmp_path: Path, made: int) -> None:
    base = based_on(tmp_path, np.float32)
    weights = np.eye(48, 2, dtype=np.float32)
    for _ in range(made):
        base = Base(base.card, folded(base.with_head(weights, np.ones(2, np.float32))), base.features)
    model = base.with_head(2 * weights, np.zeros(2, np.float32))
    assert run(model, np.ones((1, 3, 4, 4), np.float32)).tolist() == [[2.0, 2.0]]


def test_a_network_in_half_precision_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'m' computes in half precision: choose another --base"):
        based_on(tmp_path, np.float16)
