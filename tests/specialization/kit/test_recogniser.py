"""A folder's crops become a model that is served like any other and is worth what its card says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx.reference import ReferenceEvaluator

from datasets.street import street_crops
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import SHIPPED, Catalogue, Entry, verify
from serving.common.tensors import softmax
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError
from serving.loading.opening import open_model
from serving.preprocess import batch
from specialization.kit import features, recogniser
from specialization.kit.base import Base
from specialization.kit.block import _OPERATORS, tuned
from specialization.kit.crops import CropOrigin, Crops
from specialization.kit.recogniser import RecogniserRequest, make, place, write

CLASSES = ("bike", "car", "person")
QUIET = lambda step, share: None  # noqa: E731


@pytest.fixture(scope="module")
def base() -> Entry:
    """The smallest classifier that ships: it knows persons and vehicles."""
    return Catalogue([SHIPPED]).find("street-kind")


@cache
def drawn(count: int, classes: tuple[str, ...] = CLASSES, seed: int = 77) -> Crops:
    images, names = street_crops(seed, count, 64)
    rows = sorted((classes.index(name), at) for at, name in enumerate(names) if name in classes)
    places = [CropOrigin(f"cam{at % 5}", f"cam{at % 5}_{at}") for _, at in rows]
    return Crops(classes, [label for label, _ in rows], places, [images[at] for _, at in rows], "drawn crops")


def test_a_recogniser_is_served_and_right_as_its_card_says(base: Entry, tmp_path: Path) -> None:
    made = make(base, drawn(480), RecogniserRequest("mine"), QUIET)
    with place(tmp_path) as scratch:
        folder = write(made, scratch)
    entry = Catalogue([tmp_path]).find("mine")
    verify(entry)
    assert entry.card.classes == CLASSES
    assert entry.card.input == base.card.input
    assert entry.card.licence == base.card.licence
    assert folder == entry.directory
    figures = {each.metric: each.value for each in entry.card.accuracy}
    assert {each.split for each in entry.card.accuracy} == {"cameras not learnt from"}
    others = drawn(320, seed=99)
    network = open_model(entry, threads=1)
    shares = softmax(network.run(batch(entry.card.input, others.images)[0])[0] / entry.card.temperature)
    network.close()
    right = shares.argmax(axis=1) == np.array(others.labels)
    assert figures["top-1"] > 0.75
    assert right.mean() == pytest.approx(figures["top-1"], abs=0.12)
    named = shares.max(axis=1) >= entry.card.min_confidence
    assert right[named].mean() > 0.8
    assert right[named].mean() >= right.mean() - 0.02


def test_few_crops_get_a_recogniser(base: Entry) -> None:
    made = make(base, drawn(96), RecogniserRequest("mine", tune=False), QUIET)
    assert made.notes == []
    assert made.card.min_confidence > 0


def test_a_class_other_is_the_one_that_means_none_of_these(base: Entry) -> None:
    made = make(base, drawn(160, ("car", "other")), RecogniserRequest("mine", tune=False), QUIET)
    assert made.card.other_label == "other"


def test_the_last_block_is_kept_only_where_it_gains(base: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    crops = drawn(160)
    for least, word in ((-1.0, "kept"), (1.1, "not kept")):
        monkeypatch.setattr(recogniser, "LEAST_GAIN", least)
        made = make(base, crops, RecogniserRequest("mine"), QUIET)
        assert made.notes[0].endswith(f" on held-out crops: {word}")
        # Where the block learnt from three folds, only the fourth tells what it is worth.
        assert len(made.held_out.truth) < len(crops.labels) if word == "kept" else len(crops.labels)


@pytest.mark.parametrize("name", ["street-kind", "vehicle-type-compact", "vehicle-type"])
def test_the_block_in_pytorch_is_the_block_of_the_graph(name: str) -> None:
    base = Base.of(Catalogue([SHIPPED]).find(name))
    body, block = base.parts()
    engines = [EngineNetwork(name, part, OnnxRuntimeEngine(name, threads=1)) for part in (body, block)]
    images = street_crops(5, 8, 64)[0]
    before = engines[0].run(batch(base.card.input, list(images))[0])[0]
    features = engines[1].run(before)[0].reshape(8, -1)
    head = np.zeros((features.shape[1], 2), np.float32), np.zeros(2, np.float32)
    nothing = np.array([0, 1])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("specialization.kit.block.RATE", 0.0)
        found = tuned(block, head, before[:, None].astype(np.float16), nothing, np.arange(8) % 2, 1, QUIET)
    assert found.features[:, 0] == pytest.approx(features, abs=0.02)
    assert set(found.weights) <= {tensor.name for tensor in base.model.graph.initializer}
    for engine in engines:
        engine.close()


def test_the_network_with_other_weights_gives_what_pytorch_gave(base: Entry) -> None:
    opened = Base.of(base)
    body, block = opened.parts()
    engine = EngineNetwork("body", body, OnnxRuntimeEngine("body", threads=1))
    images = list(street_crops(5, 24, 64)[0])
    items = batch(opened.card.input, images)[0]
    before = engine.run(items)[0]
    engine.close()
    rng = np.random.default_rng(1)
    start = EngineNetwork("block", block, OnnxRuntimeEngine("block", threads=1))
    length = start.run(before)[0].reshape(24, -1).shape[1]
    start.close()
    head = rng.normal(0, 0.1, (length, 3)).astype(np.float32), np.zeros(3, np.float32)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("specialization.kit.block.RATE", 3e-3)
        found = tuned(block, head, before[:, None].astype(np.float16), np.arange(24), np.arange(24) % 3, 1, QUIET)
    weights, bias = found.head
    whole = EngineNetwork("whole", opened.with_head(weights, bias, found.weights), OnnxRuntimeEngine("w", threads=1))
    assert whole.run(items)[0] == pytest.approx(found.features[:, 0] @ weights + bias, abs=0.05)
    whole.close()
    old = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in opened.model.graph.initializer}
    assert any(np.abs(values - old[name]).max() > 1e-3 for name, values in found.weights.items())


def test_an_operator_that_cannot_be_trained_is_named(base: Entry) -> None:
    block = Base.of(base).parts()[1]
    block.graph.node[0].op_type = "LRN"
    with pytest.raises(ModelError, match="its last block has LRN, which cannot be trained here"):
        tuned(block, (np.zeros((48, 2), np.float32), np.zeros(2, np.float32)), np.zeros((2, 1, 1)), np.arange(2),
              np.arange(2), 1, QUIET)  # fmt: skip


def test_a_network_without_features_is_refused(tmp_path: Path, base: Entry) -> None:
    card = base.card.model_copy(update={"task": "embed", "classes": ()})
    with pytest.raises(ModelError, match="'street-kind' is no classifier: choose another --base"):
        Base.of(Entry(card, base.directory))


def test_a_model_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    made = recogniser.RecogniserDraft(onnx.ModelProto(), ModelCard.model_construct(name="mine"), None)  # type: ignore[arg-type]
    (tmp_path / "mine").mkdir()
    match = "mine exists: remove it, or give the model another name"
    with place(tmp_path) as scratch, pytest.raises(ModelError, match=match):
        write(made, scratch)
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_threads_of_pytorch_are_those_that_were_given(base: Entry) -> None:
    make(base, drawn(96), RecogniserRequest("mine", threads=1), QUIET)
    assert torch.get_num_threads() == 1


def test_of_many_crops_the_last_block_learns_from_all_classes_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "MOST_TUNED", 40)
    labels = np.repeat([0, 1], [500, 15])
    kept = features._kept(labels, 2)
    assert np.bincount(labels[kept]).tolist() == [20, 15]
    assert kept[0] == 0
    assert labels[kept[19]] == 0
    assert kept[19] == 499


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("MaxPool", {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}),
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("GlobalAveragePool", {}),
        ("Conv", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "group": 4}),
        ("Conv", {"kernel_shape": [3, 3], "dilations": [2, 2], "pads": [2, 0, 2, 0]}),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
        ("HardSwish", {}),
        ("Sigmoid", {}),
        ("Relu", {}),
        ("Flatten", {"axis": 1}),
        ("Identity", {}),
        ("Concat", {"axis": 1}),
        ("Add", {}),
        ("Mul", {}),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_an_operator_of_the_block_gives_what_onnx_defines(kind: str, attributes: dict[str, object]) -> None:
    rng = np.random.default_rng(1)
    given = rng.normal(0, 2, (2, 4, 9, 8)).astype(np.float32)
    inputs = [given]
    if kind == "Conv":
        inputs.append(rng.normal(0, 1, (8, 4 // int(str(attributes.get("group", 1))), 3, 3)).astype(np.float32))
    elif kind in ("Add", "Mul", "Concat"):
        inputs.append(rng.normal(0, 1, given.shape).astype(np.float32))
    names = [f"in{place}" for place in range(len(inputs))]
    node = onnx.helper.make_node(kind, names, ["out"], **attributes)
    (wanted,) = ReferenceEvaluator(node).run(None, dict(zip(names, inputs, strict=True)))
    plain = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    found = _OPERATORS[kind](plain, *map(torch.from_numpy, inputs))
    assert found.numpy() == pytest.approx(wanted, abs=1e-4)
