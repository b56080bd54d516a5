from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.backend import Backend
from serving.catalogue.lookup import Catalogue, Entry, read_weights
from serving.engines.groups import GroupRequest
from serving.engines.network import run_in_steps
from serving.engines.session import session_options
from serving.errors import ModelError
from serving.graphs.shapes import tensor_specs
from serving.loading.opening import open_group, open_model
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import ResolvedModel
from serving.variants.variant import reference
from tests.models import UINT8, mean_model, save_graph, write_card


def images(*levels: float) -> np.ndarray:
    """One 4 × 4 picture per level, its three channels level, level + 1, level + 2."""
    channels = np.array(levels, np.float32)[:, None] + np.arange(3, dtype=np.float32)
    return np.broadcast_to(channels[:, :, None, None], (len(levels), 3, 4, 4)).copy()


def entry_of(tmp_path: Path, **changes: object) -> Entry:
    write_card(tmp_path / "m", **changes)
    return Catalogue([tmp_path]).find("m")


def test_outputs_have_a_row_per_item(tmp_path: Path) -> None:
    network = open_model(mean_model(tmp_path).find("means"), 1)
    assert network.batch_limit is None
    (means,) = network.run(images(1, 5))
    assert means.tolist() == [[1, 2, 3], [5, 6, 7]]


def test_a_fixed_batch_of_one_takes_one_item_per_run(tmp_path: Path) -> None:
    network = open_model(mean_model(tmp_path, batch=1).find("means"), 1)
    assert network.batch_limit == 1
    (means,) = run_in_steps(network.run, images(1, 5, 9), 1)
    assert means[:, 0].tolist() == [1, 5, 9]


def test_the_card_limits_the_batch(tmp_path: Path) -> None:
    assert open_model(mean_model(tmp_path, max_batch=3).find("means"), 1).batch_limit == 3


def test_another_fixed_batch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="fixed batch of 2"):
        open_model(mean_model(tmp_path, batch=2).find("means"), 1)


def odd_graph(directory: Path, nodes: list[onnx.NodeProto], inputs: Sequence[Any] = (), **changes: Any) -> Entry:
    """A model with the output ``means`` and the constants ``two``, ``shape`` and ``ones``."""
    given = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 3, 4, 4])
    ones = np.ones((3, 3, 3, 3), np.float32)
    constants = {"two": np.float32(2), "shape": np.array([1, 3, 16], np.int64), "ones": ones}
    output = helper.make_tensor_value_info("means", TensorProto.FLOAT, ["N", 3])
    graph = helper.make_graph(nodes, "odd", [*inputs, given], [changes.pop("output", output)])
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    graph.sparse_initializer.extend(changes.pop("sparse", ()))
    directory.mkdir()
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), directory / "net.onnx"
    )
    return Catalogue([write_card(directory).parent]).find(directory.name)


def mean_of(what: str, axes: Sequence[int] = (2, 3), into: str = "means") -> onnx.NodeProto:
    return helper.make_node("ReduceMean", [what], [into], axes=axes, keepdims=0)


def test_weights_may_be_listed_before_the_input(tmp_path: Path) -> None:
    weight = helper.make_tensor_value_info("two", TensorProto.FLOAT, [])
    nodes = [helper.make_node("Mul", ["images", "two"], ["twice"]), mean_of("twice")]
    network = open_model(odd_graph(tmp_path / "m", nodes, [weight]), 1)
    assert network.batch_limit is None
    assert network.run(images(1, 5))[0].tolist() == [[2, 4, 6], [10, 12, 14]]


def test_pictures_are_run_one_by_one_where_the_graph_has_a_batch_of_one_inside(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["images", "shape"], ["rows"]), mean_of("rows", [2])]
    network = open_model(odd_graph(tmp_path / "m", nodes), 1)
    assert network.batch_limit == 1
    assert run_in_steps(network.run, images(1, 5), 1)[0][:, 0].tolist() == [1, 5]


def test_pictures_are_run_one_by_one_where_one_changes_what_is_said_of_another(tmp_path: Path) -> None:
    """As by a normalisation that was exported in its form for training."""
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["usual"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["images", "usual"], ["apart"]),
        mean_of("apart"),
    ]
    assert open_model(odd_graph(tmp_path / "m", nodes), 1).batch_limit == 1


def test_a_network_with_cuts_is_run_one_by_one_where_it_would_be_without(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["images", "two"], ["twice"]),
        helper.make_node("Reshape", ["twice", "shape"], ["rows"]),
        mean_of("rows", [2]),
    ]
    entry = odd_graph(tmp_path / "m", nodes)
    group = open_group([ResolvedModel("m", entry, reference("m"), entry.path, cuts=("twice",))], 1)
    assert group.batch_limit == 1
    asked = GroupRequest("m", images(1, 5))
    assert group.run([asked], 1)[0][0][:, 0].tolist() == [2, 10]


def test_networks_with_a_common_prefix_are_run_one_by_one_where_one_of_them_would_be(tmp_path: Path) -> None:
    passed = (("images", "sums"), ("sums", "more"))
    prefix = [helper.make_node("Conv", [given, "ones"], [into], pads=[1, 1, 1, 1]) for given, into in passed]
    rows = [helper.make_node("Reshape", ["more", "shape"], ["rows"]), mean_of("rows", [2])]
    entries = [odd_graph(tmp_path / "plain", [*prefix, mean_of("more")]), odd_graph(tmp_path / "odd", [*prefix, *rows])]
    sources = [ResolvedModel(each.card.name, each, reference(each.card.name), each.path) for each in entries]
    assert [open_group([each], 1).batch_limit for each in sources] == [None, 1]
    assert open_group(sources, 1).batch_limit == 1


def test_a_recogniser_with_outputs_that_nobody_reads_runs_with_cuts(tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["images", "two"], ["twice"]), mean_of("twice")]
    entry = odd_graph(tmp_path / "m", nodes)
    model = onnx.load(entry.path)
    model.graph.output.append(helper.make_tensor_value_info("twice", TensorProto.FLOAT, ["N", 3, 4, 4]))
    onnx.save(model, entry.path)
    entry = entry_of(tmp_path)
    group = open_group([ResolvedModel("m", entry, reference("m"), entry.path, cuts=("twice",))], 1)
    assert group.run([GroupRequest("m", images(1, 5))], 2)[0][0][:, 0].tolist() == [2, 10]


@pytest.mark.parametrize(
    ("node", "output"),
    [
        (
            helper.make_node("SequenceConstruct", ["images"], ["means"]),
            helper.make_tensor_sequence_value_info("means", TensorProto.FLOAT, None),
        ),
        (
            helper.make_node("Cast", ["images"], ["means"], to=TensorProto.STRING),
            helper.make_tensor_value_info("means", TensorProto.STRING, ["N", 3, 4, 4]),
        ),
    ],
)
def test_outputs_must_be_arrays_of_numbers(tmp_path: Path, node: onnx.NodeProto, output: onnx.ValueInfoProto) -> None:
    with pytest.raises(ModelError, match="output 0 is no array of numbers"):
        open_model(odd_graph(tmp_path / "m", [node], output=output), 1)


async def test_a_graph_that_cannot_be_compared_is_run_by_itself(tmp_path: Path) -> None:
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.ones(1, np.float32), "some"), numpy_helper.from_array(np.zeros(1, np.int64)), [3, 3]
    )
    nodes = [mean_of("images", into="row"), helper.make_node("MatMul", ["row", "some"], ["means"])]
    odd_graph(tmp_path / "odd", nodes, sparse=[sparse])
    backend = Backend(mean_model(tmp_path, "plain"), artefacts_dir=tmp_path / "built")
    await backend.start()
    for name in ("plain", "odd"):
        await backend.load(name)
    assert backend.run_with("odd") == {"odd"}
    (answer,) = await backend.infer("odd", images(5), Urgency(0.0))
    assert answer.tolist() == [[5, 0, 0]]
    await backend.stop()


def convolution(directory: Path, shape: list[int | str]) -> None:
    """A graph whose output is the sum of 2 × 2 pixels, exported with an example of the shape."""
    directory.mkdir()
    node = helper.make_node("Conv", ["images", "ones"], ["sums"], strides=[2, 2])
    halves = [side // 2 if isinstance(side, int) else side for side in shape[2:]]
    ones = np.ones((1, 3, 2, 2), np.float32)
    save_graph(directory / "net.onnx", [node], {"sums": [shape[0], 1, *halves]}, shape, {"ones": ones})


def test_a_graph_that_was_exported_with_an_example_takes_the_cards_size_where_the_card_says_so(tmp_path: Path) -> None:
    convolution(tmp_path / "m", [10, 3, 32, 32])
    size = {"width": 6, "height": 4}
    network = open_model(entry_of(tmp_path, input={**size, "any_size": True}), 1)
    assert network.batch_limit is None
    (sums,) = network.run(np.ones((3, 3, 4, 6), np.float32))
    assert sums.shape == (3, 1, 2, 3)
    assert (sums == 12).all()
    with pytest.raises(ModelError, match="takes float32 N × 3 × 4 × 6"):
        network.check(np.ones((1, 3, 6, 6), np.float32))
    with pytest.raises(ModelError, match=r"10 × 3 × 32 × 32|fixed batch of 10"):
        open_model(entry_of(tmp_path, input=size), 1)


def test_outputs_come_in_the_cards_order(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    nodes = [
        helper.make_node("ReduceMax", ["images"], ["high"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("ReduceMin", ["images"], ["low"], axes=[1, 2, 3], keepdims=0),
    ]
    save_graph(tmp_path / "m" / "net.onnx", nodes, {"high": ["N"], "low": ["N"]})
    finder = {"task": "detect", "decoding": {"kind": "ssd"}, "outputs": ["low", "high"]}
    low, high = open_model(entry_of(tmp_path, **finder), 1).run(images(4))
    assert (low.tolist(), high.tolist()) == ([4], [6])
    (low,) = open_model(entry_of(tmp_path, outputs=["low", "high"]), 1).run(images(4))
    assert low.tolist() == [4]


def test_a_recogniser_is_read_again_as_it_was_written_whatever_its_card_names_behind_the_first_output(
    tmp_path: Path,
) -> None:
    (tmp_path / "m").mkdir()
    highest = helper.make_node("ReduceMax", ["images"], ["high"], axes=[2, 3], keepdims=0)
    save_graph(tmp_path / "m" / "net.onnx", [highest, mean_of("images")], {"high": ["N", 3], "means": ["N", 3]})
    entry = entry_of(tmp_path, outputs=["means", "high"])
    built = tmp_path / "built.onnx"
    onnx.save(read_weights(entry.path, entry.card), built)
    (means,) = open_group([ResolvedModel("m", entry, reference("m"), built)], 1).run([GroupRequest("m", images(4))], 1)
    assert means[0].tolist() == [[4, 5, 6]]


@pytest.mark.parametrize("divisor", ["images", "nothing"])
def test_a_network_that_says_no_numbers_of_a_plain_picture_takes_several_at_once(tmp_path: Path, divisor: str) -> None:
    nodes = [
        helper.make_node("Sub", ["two", "two"], ["nothing"]),
        helper.make_node("Div", ["images", divisor], ["shares"]),
        helper.make_node("Max", ["shares", "two"], ["above"]),
        mean_of("above"),
    ]
    assert open_model(odd_graph(tmp_path / "m", nodes), 1).batch_limit is None


@pytest.mark.parametrize("weight", ["two", "three"])
def test_weights_in_another_file_are_refused_since_the_card_does_not_vouch_for_them(
    tmp_path: Path, weight: str
) -> None:
    three = helper.make_node("Constant", [], ["three"], value=numpy_helper.from_array(np.float32([3])))
    nodes = [three, helper.make_node("Mul", ["images", weight], ["more"]), mean_of("more")]
    path = odd_graph(tmp_path / "m", nodes).path
    beside = {"location": "net.data", "size_threshold": 0, "convert_attribute": weight == "three"}
    model = onnx.load(path)
    if weight == "three":
        del model.graph.initializer[:]
    onnx.save(model, path, save_as_external_data=True, **beside)
    with pytest.raises(ModelError, match=r"net.onnx lie in another file, .*: write one file, onnx.save\(onnx.load"):
        open_model(entry_of(tmp_path), 1)


def test_an_output_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no output 'logits' in the graph; it has means"):
        open_model(mean_model(tmp_path, outputs=["logits"]).find("means"), 1)


def test_a_card_that_disagrees_with_the_graph_is_refused(tmp_path: Path) -> None:
    catalogue = mean_model(tmp_path, input={"width": 8, "height": 4})
    with pytest.raises(ModelError, match="takes float32 N × 3 × 4 × 4, was given float32 1 × 3 × 4 × 8: check 'input'"):
        open_model(catalogue.find("means"), 1)


@pytest.mark.parametrize(
    ("batch", "given"),
    [
        (np.zeros((1, 3, 4, 5), np.float32), "float32 1 × 3 × 4 × 5"),
        (np.zeros((3, 4, 4), np.float32), "float32 3 × 4 × 4"),
        (np.zeros((1, 3, 4, 4), np.float64), "float64 1 × 3 × 4 × 4"),
        (np.zeros((0, 3, 4, 4), np.float32), "an empty batch"),
    ],
)
def test_a_wrong_batch_is_refused_with_what_was_given(tmp_path: Path, batch: np.ndarray, given: str) -> None:
    with pytest.raises(ModelError, match=given):
        open_model(mean_model(tmp_path).find("means"), 1).check(batch)


def test_damaged_weights_are_refused_before_they_are_opened(tmp_path: Path) -> None:
    entry = mean_model(tmp_path).find("means")
    entry.path.write_bytes(entry.path.read_bytes()[:-9])
    with pytest.raises(ModelError, match="damaged or another file"):
        open_model(entry, 1)


def test_what_is_no_network_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "net.onnx").write_bytes(b"not a network")
    with pytest.raises(ModelError, match="cannot be opened") as caught:
        open_model(entry_of(tmp_path), 1)
    assert "\n" not in str(caught.value)


def test_a_graph_with_two_inputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 4, 4]) for name in ("a", "b", "c")]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["c"])], "g", value[:2], value[2:])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "m" / "net.onnx")
    with pytest.raises(ModelError, match=r"must have one input.* b of 4 axes: give others a value"):
        open_model(entry_of(tmp_path), 1)


def test_an_input_that_is_given_a_value_is_none(tmp_path: Path) -> None:
    """As detectors that want the picture's size, too."""
    directory = tmp_path / "m"
    directory.mkdir()
    kinds = {"images": (TensorProto.FLOAT, ["N", 3, 4, 4]), "size": (TensorProto.INT64, ["N", 2])}
    given = [helper.make_tensor_value_info(name, *kind) for name, kind in kinds.items()]
    nodes = [
        helper.make_node("Cast", ["size"], ["pixels"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Slice", ["mean", "from", "to", "axis"], ["two"]),
        helper.make_node("Mul", ["two", "pixels"], ["y"]),
    ]
    constants = {"from": [0], "to": [2], "axis": [1], "size": [[4, 4]]}
    stored = [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()]
    said = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])]
    graph = helper.make_graph(nodes, "g", given, said, stored)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), directory / "net.onnx")
    (output,) = open_model(entry_of(tmp_path), 1).run(np.ones((3, 3, 4, 4), np.float32))
    assert output.tolist() == [[4.0, 4.0]] * 3


def test_a_size_that_a_graph_leaves_open_is_the_card_s(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    node = helper.make_node("AveragePool", ["images"], ["y"], kernel_shape=[4, 4])
    save_graph(tmp_path / "m" / "net.onnx", [node], {"y": ["N", 3, "h", "w"]}, ["N", 3, "height", "width"])
    entry = entry_of(tmp_path)
    dims = read_weights(entry.path, entry.card).graph.input[0].type.tensor_type.shape.dim
    assert [(dim.dim_value, dim.dim_param) for dim in dims] == [(0, "N"), (3, ""), (4, ""), (4, "")]


def test_a_size_below_zero_is_one_that_is_left_open(tmp_path: Path) -> None:
    """As exporters from Paddle write it."""
    catalogue = mean_model(tmp_path, "m", batch=-1)
    entry = catalogue.find("m")
    model = read_weights(entry.path, entry.card)
    assert {spec.shape for spec in tensor_specs(model, "images").values()} == {(None, 3, 4, 4), (None, 3)}


def test_a_graph_that_takes_bytes_is_given_bytes(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    nodes = [
        helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["pixels"], ["means"], axes=[1, 2], keepdims=0),
    ]
    save_graph(tmp_path / "m" / "net.onnx", nodes, {"means": ["N", 3]}, ("N", None, None, 3), dtype=UINT8)
    size = {"width": 4, "height": 4, "layout": "nhwc", "dtype": "uint8"}
    (means,) = open_model(entry_of(tmp_path, input=size), 1).run(np.full((2, 4, 4, 3), 7, np.uint8))
    assert means.tolist() == [[7, 7, 7]] * 2


def test_pieces_of_varying_length_are_padded_with_zeros(tmp_path: Path) -> None:
    """As from graphs that suppress overlaps themselves: here the output holds the pixels above 0, flattened."""
    (tmp_path / "m").mkdir()
    nodes = [
        helper.make_node("Reshape", ["images", "flat"], ["row"]),
        helper.make_node("Greater", ["row", "zero"], ["positive"]),
        helper.make_node("Compress", ["row", "positive"], ["found"], axis=0),
        helper.make_node("Reshape", ["found", "one_row"], ["kept"]),
    ]
    constants = {"flat": np.array([-1]), "zero": np.float32(0), "one_row": np.array([1, -1])}
    save_graph(tmp_path / "m" / "net.onnx", nodes, {"kept": [1, None]}, (1, 3, 4, 4), constants)
    batch = np.zeros((2, 3, 4, 4), np.float32)
    batch[0, 0, 0, :3], batch[1, 0, 0, 0] = 5, 6
    (kept,) = run_in_steps(open_model(entry_of(tmp_path), 1).run, batch, 1)
    assert kept.tolist() == [[5, 5, 5], [6, 0, 0]]


def test_weights_stored_as_float16_are_folded_to_float32_once(tmp_path: Path) -> None:
    """The graph that runs holds no cast: such a file is half as large and not slower."""
    weights = np.random.default_rng(0).normal(size=(8, 3, 3, 3)).astype(np.float16)
    nodes = [
        helper.make_node("Cast", ["half"], ["kernel"], to=TensorProto.FLOAT),
        helper.make_node("Conv", ["images", "kernel"], ["maps"]),
    ]
    path, optimised = tmp_path / "half.onnx", tmp_path / "optimised.onnx"
    save_graph(path, nodes, {"maps": ["N", 8, 2, 2]}, constants={"half": weights})
    options = session_options(1)
    options.optimized_model_filepath = str(optimised)
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(optimised).graph
    assert "Cast" not in [node.op_type for node in graph.node]
    assert {numpy_helper.to_array(each).dtype.name for each in graph.initializer if len(each.dims) > 2} == {"float32"}

    (halved,) = session.run(None, {"images": images(1)})
    save_graph(path, nodes[1:], {"maps": ["N", 8, 2, 2]}, constants={"kernel": weights.astype(np.float32)})
    (whole,) = ort.InferenceSession(str(path), session_options(1)).run(None, {"images": images(1)})
    np.testing.assert_array_equal(halved, whole)
