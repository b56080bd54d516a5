"""What a worker asks of its process, and gives back."""

from __future__ import annotations

import gc
import sys

import cv2
import numpy as np  # noqa: F401 - its products are what has threads
import pytest
from threadpoolctl import threadpool_info

from pipelines.process.garbage import OFTEN, collect_often, collect_seldom
from pipelines.process.tuning import tuned


def test_what_is_loaded_is_out_of_the_collector_s_sight_while_it_lasts() -> None:
    with tuned():
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0


def test_garbage_is_looked_for_seldom_until_there_are_frames() -> None:
    try:
        collect_seldom()
        assert gc.get_threshold()[0] > OFTEN[0]
        with tuned():
            assert gc.get_threshold() == OFTEN
    finally:
        collect_often()


def test_opencv_has_no_threads_of_its_own_while_it_lasts() -> None:
    before = cv2.getNumThreads()
    with tuned():
        assert cv2.getNumThreads() == 1
    assert cv2.getNumThreads() == before


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


def blas_threads() -> list[int]:
    """How many each library of matrix products has."""
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_an_error_leaves_nothing_behind() -> None:
    before = cv2.getNumThreads()
    with pytest.raises(KeyError), tuned():
        raise KeyError
    assert (cv2.getNumThreads(), gc.get_freeze_count()) == (before, 0)
