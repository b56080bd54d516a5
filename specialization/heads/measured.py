"""Measured rates as bytes, for those who train elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from serving.errors import ModelError
from serving.weights import read_tensors
from specialization.rates import MeasuredRates, Rates

MOST = 100
"""Most tolerances, and most numbers of classes."""


def to_bytes(measured: Sequence[MeasuredRates], samples: int) -> bytes:
    """Encode rates that were measured on so many samples, all for the same numbers of classes, as safetensors."""
    sizes = sorted(measured[0].rates)
    rates = [[msgspec.structs.astuple(each.rates[n]) for n in sizes] for each in measured]
    data: bytes = save(
        {
            "tolerances": np.array([each.tolerance for each in measured], np.float64),
            "sizes": np.array(sizes, np.int64),
            "rates": np.array(rates, np.float64),
            "samples": np.array([samples], np.int64),
        }
    )
    return data


def from_bytes(data: bytes) -> tuple[tuple[MeasuredRates, ...], int]:
    """Read the output of ``to_bytes``; ModelError for anything else."""
    tensors = read_tensors(data, "measured rates are damaged")
    if set(tensors) != {"tolerances", "sizes", "rates", "samples"} or not _fit(tensors):
        raise ModelError("measured rates are damaged: they are not shares by tolerance and number of classes")
    sizes = tensors["sizes"].tolist()
    return tuple(
        MeasuredRates(tolerance, {n: Rates(*row) for n, row in zip(sizes, rows, strict=True)})
        for tolerance, rows in zip(tensors["tolerances"].tolist(), tensors["rates"].tolist(), strict=True)
    ), int(tensors["samples"][0])


def _fit(tensors: dict[str, NDArray[Any]]) -> bool:
    tolerances, sizes, rates, samples = (tensors[name] for name in ("tolerances", "sizes", "rates", "samples"))
    shapes = tolerances.ndim == sizes.ndim == 1 and rates.shape == (*tolerances.shape, *sizes.shape, 3)
    kinds = [str(each.dtype) for each in (tolerances, sizes, rates)] == ["float64", "int64", "float64"]
    if not (shapes and kinds and samples.shape == (1,) and samples.dtype == np.int64 and samples[0] >= 0):
        return False
    ascend = bool((np.diff(tolerances) > 0).all() and (np.diff(sizes) > 0).all())
    shares = all(bool(((each >= 0) & (each <= 1)).all()) for each in (tolerances, rates))
    return 0 < len(tolerances) <= MOST and 0 < len(sizes) <= MOST and ascend and shares and bool(sizes[0] >= 1)
