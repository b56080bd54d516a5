"""Files of tensors: what was written is read, and anything else is one error in one line."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from serving.common.weights import LONGEST_REASON, names, read_tensors
from serving.errors import ModelError
from tests.serving.tensor_files import ODD

GOOD = save({"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "sizes": np.array([1, 2], np.int64)})


def test_what_was_written_is_read() -> None:
    tensors = read_tensors(GOOD, "a head is damaged")
    assert set(tensors) == {"weights", "sizes"}
    np.testing.assert_array_equal(tensors["weights"], [[0, 1, 2], [3, 4, 5]])
    assert tensors["sizes"].dtype == np.int64


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_anything_else_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(ModelError, match=r"^a head is damaged: .") as raised:
        read_tensors(data, "a head is damaged")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) <= len("a head is damaged: ") + LONGEST_REASON


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for place, byte in changes:
        data[place] = byte
    with suppress(ModelError):
        assert all(isinstance(each, np.ndarray) for each in read_tensors(bytes(data), "damaged").values())


def test_names_in_an_error_are_bounded_and_printable() -> None:
    assert names([]) == "nothing"
    assert names(["b", "a"]) == "a, b"
    assert len(names(["x" * 100_000, "\x1b[31m"])) <= LONGEST_REASON
    assert names(["\x1b[31m"]).isprintable()
