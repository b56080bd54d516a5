"""What a network takes, as it is said of its inputs."""

from __future__ import annotations

import numpy as np
import pytest

from serving.common.tensors import TensorSpec
from serving.errors import ModelError

FLOAT = np.dtype(np.float32)


def test_a_blank_item_is_one_that_the_network_takes() -> None:
    spec = TensorSpec(FLOAT, (None, 3, 4, 5))
    assert spec.sizes_known
    assert spec.blank().shape == (1, 3, 4, 5)
    assert spec.blank(7).shape == (7, 3, 4, 5)
    assert not spec.blank().any()
    spec.check(spec.blank(), "net")


def test_a_size_that_may_be_any_is_one_in_a_blank_item() -> None:
    spec = TensorSpec(np.dtype(np.uint8), (None, 3, None, None))
    assert not spec.sizes_known
    assert spec.blank(2).shape == (2, 3, 1, 1)
    spec.check(spec.blank(), "net")


@pytest.mark.parametrize("batch", [np.zeros((1, 3, 4), np.float32), np.zeros((1, 3, 4, 5), np.float64)])
def test_another_shape_or_type_is_refused(batch: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    with pytest.raises(ModelError, match="net takes float32 N × 3 × 4 × 5, was given"):
        TensorSpec(FLOAT, (None, 3, 4, 5)).check(batch, "net")
