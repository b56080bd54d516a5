"""A model's graph as its card describes it: read whole, with the outputs in the card's order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from serving.catalogue.cards import ModelCard
from serving.common.explain import first_line
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx


def read_weights(path: Path, card: ModelCard) -> onnx.ModelProto:
    """The ONNX model, weights of accompanying files included; raises ModelError."""
    import onnx

    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf's and the file system's exceptions share no base but Exception
        raise ModelError(f"model {card.name!r}: {path} cannot be opened: {first_line(error)}") from error
    _only_input(model, card)
    if card.input.any_size:
        _open_size(model, card)
    _order_outputs(model, card)
    return model


def _only_input(model: onnx.ModelProto, card: ModelCard) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in constants]
    if len(inputs) != 1 or len(inputs[0].type.tensor_type.shape.dim) != 4:
        found = ", ".join(f"{each.name} of {len(each.type.tensor_type.shape.dim)} axes" for each in inputs) or "none"
        raise ModelError(f"model {card.name!r}: must have one input, a batch of images with 4 axes; has {found}")


def _open_size(model: onnx.ModelProto, card: ModelCard) -> None:
    """Let the graph take batches of any length of the card's size; what it says of an example's sizes is dropped."""
    constants = {tensor.name for tensor in model.graph.initializer}
    (given,) = (each for each in model.graph.input if each.name not in constants)
    batch, *item = given.type.tensor_type.shape.dim
    batch.dim_param = "N"
    for dim, size in zip(item, card.input.item_shape, strict=True):
        dim.dim_value = size
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")


def _order_outputs(model: onnx.ModelProto, card: ModelCard) -> None:
    have = {output.name: output for output in model.graph.output}
    if missing := [name for name in card.outputs if name not in have]:
        raise ModelError(f"model {card.name!r}: no output {missing[0]!r} in the graph; it has {', '.join(have)}")
    if card.outputs:
        chosen = [have[name] for name in card.outputs]
        del model.graph.output[:]
        model.graph.output.extend(chosen)
