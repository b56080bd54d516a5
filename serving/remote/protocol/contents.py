"""Elements that other clients and servers send one by one, in a field of their type, and not as raw bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from serving.common.tensors import Array
from serving.errors import Malformed
from serving.remote.protocol.datatypes import datatype
from serving.remote.protocol.inference_pb2 import InferTensorContents

MOST_ELEMENTS = 1 << 20
"""Larger tensors come as raw bytes: elements are taken out of a message one after the other."""


def from_contents(contents: InferTensorContents, dtype: np.dtype[Any], items: int, what: str) -> Array:
    """A flat array of so many items; Malformed where there are not so many, or one does not fit its type."""
    if items > MOST_ELEMENTS:
        raise Malformed(f"{what}: {items} elements one by one are more than the {MOST_ELEMENTS} that are allowed")
    elements = _elements(contents, datatype(dtype), what)
    if len(elements) != items:
        raise Malformed(f"{what}: {len(elements)} elements, where its shape has {items}")
    try:
        return np.array(list(elements), dtype)
    except OverflowError:
        raise Malformed(f"{what}: an element does not fit {datatype(dtype)}") from None


def _elements(contents: InferTensorContents, name: str, what: str) -> Sequence[float]:
    match name:
        case "BOOL":
            return contents.bool_contents
        case "INT8" | "INT16" | "INT32":
            return contents.int_contents
        case "INT64":
            return contents.int64_contents
        case "UINT8" | "UINT16" | "UINT32":
            return contents.uint_contents
        case "UINT64":
            return contents.uint64_contents
        case "FP32":
            return contents.fp32_contents
        case "FP64":
            return contents.fp64_contents
        case _:
            raise Malformed(f"{what}: {name} travels as raw bytes only")
