"""Half precision (fp16): weights and activations in 16 bits, by ONNX Runtime's tool; inputs and outputs stay."""

from __future__ import annotations

import warnings

import onnx

from serving.common.explain import first_line
from serving.common.silence import silent
from serving.errors import ModelError
from serving.graphs.fold import folded

with silent():
    from onnxruntime.transformers.float16 import convert_float_to_float16


def in_half_precision(name: str, model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in fp16; operators that the tool knows to need more stay in fp32. ModelError where it fails.

    ``name``: of the model, for messages.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers that are too small or too large are brought to the nearest
            return convert_float_to_float16(folded(model), keep_io_types=True)
    except Exception as error:  # the tool raises whatever it meets
        raise ModelError(f"model {name!r} cannot be converted to fp16: {first_line(error)}") from error
