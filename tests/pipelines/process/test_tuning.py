"""What a command asks of its process while it works, and gives back."""

from __future__ import annotations

import sys

import cv2
import numpy as np  # noqa: F401 - its products are what has threads
import pytest
from threadpoolctl import threadpool_info

from pipelines.process.tuning import tuned


def test_a_network_gets_the_interpreter_back_soon_while_it_lasts() -> None:
    before = sys.getswitchinterval()
    with tuned():
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def test_products_of_matrices_have_one_thread_while_it_lasts() -> None:
    before = blas_threads()
    with tuned():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_opencv_computes_in_the_thread_that_asks_while_it_lasts() -> None:
    before = cv2.getNumThreads()
    with tuned():
        assert cv2.getNumThreads() == 1
    assert cv2.getNumThreads() == before


def blas_threads() -> list[int]:
    """How many each library of matrix products has."""
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_an_error_leaves_nothing_behind() -> None:
    before = sys.getswitchinterval(), blas_threads()
    with pytest.raises(KeyError), tuned():
        raise KeyError
    assert (sys.getswitchinterval(), blas_threads()) == before
