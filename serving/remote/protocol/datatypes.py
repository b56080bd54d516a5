"""The protocol's names of element types and NumPy's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from serving.common.untrusted import printable
from serving.errors import Malformed

DTYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(kind).newbyteorder("<")
    for name, kind in {
        "BOOL": np.bool_,
        "UINT8": np.uint8,
        "UINT16": np.uint16,
        "UINT32": np.uint32,
        "UINT64": np.uint64,
        "INT8": np.int8,
        "INT16": np.int16,
        "INT32": np.int32,
        "INT64": np.int64,
        "FP16": np.float16,
        "FP32": np.float32,
        "FP64": np.float64,
    }.items()
}
"""Little-endian, as bytes travel. Texts (BYTES) and BF16, which NumPy has not, are not spoken."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def datatype(dtype: np.dtype[Any]) -> str:
    """The protocol's name of a type.

    >>> datatype(np.dtype(np.float32))
    'FP32'
    """
    return _NAMES[dtype.newbyteorder("<")]


def dtype_of(name: str, what: str) -> np.dtype[Any]:
    """The type of this name; Malformed for another one, which names the tensor: ``what``."""
    dtype = DTYPES.get(name)
    if dtype is None:
        raise Malformed(f"{what}: the type {printable(name, 32)!r} is not one of {', '.join(DTYPES)}")
    return dtype
