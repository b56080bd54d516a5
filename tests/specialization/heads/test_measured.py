"""Rates as bytes: back as they were, and refused where they are anything else."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load, save

from serving.errors import ModelError
from specialization.heads.measured import from_bytes, to_bytes
from specialization.rates import MeasuredRates, Rates
from tests.serving.tensor_files import ODD

RATES = {1: Rates(0.9, 0.1, 1.0), 5: Rates(0.7, 0.2, 0.95)}
MEASURED = (MeasuredRates(0.01, RATES), MeasuredRates(0.025, RATES))


def test_rates_come_back() -> None:
    assert from_bytes(to_bytes(MEASURED, 300)) == (MEASURED, 300)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rates", np.full((2, 2, 3), 1.5)),
        ("rates", np.full((2, 2, 3), np.nan)),
        ("rates", np.zeros((2, 3, 3))),
        ("tolerances", np.array([0.02, 0.01])),
        ("sizes", np.array([0, 1])),
        ("sizes", np.array([1.0, 2.0])),
        ("samples", np.array([-1])),
        ("samples", np.zeros((1, 1), np.int64)),
        ("more", np.zeros(1)),
    ],
)
def test_anything_else_is_damaged(name: str, values: np.ndarray) -> None:
    tensors = load(to_bytes(MEASURED, 300)) | {name: values}
    with pytest.raises(ModelError, match="damaged"):
        from_bytes(save(tensors))


@pytest.mark.parametrize("data", [*ODD.values(), to_bytes(MEASURED, 1)[:-3]], ids=[*ODD, "cut"])
def test_bytes_that_are_no_tensors_are_damaged(data: bytes) -> None:
    with pytest.raises(ModelError, match="damaged"):
        from_bytes(data)
