from __future__ import annotations

from itertools import count

import pytest

from serving.errors import ModelError
from serving.graphs.segments import split
from serving.profiling.timing import segment_times
from tests.serving.graphs.support import network

NET = network(
    "(float[N,4] x) => (float[N,4] y)", "a = MatMul(x, w) b = Relu(a) c = MatMul(b, w) y = MatMul(c, w)", w=[4, 4]
)


def test_every_segment_has_its_time() -> None:
    ticks = count()
    # Each look at the clock takes a second, and every segment is timed by two of them.
    assert segment_times("net", split(NET, ["b", "c"]), 1, 60.0, clock=lambda: float(next(ticks))) == [1.0, 1.0, 1.0]


def test_an_open_size_cannot_be_timed() -> None:
    model = network("(float[N,K] x) => (float[N,K] y)", "y = Relu(x)")
    with pytest.raises(ModelError, match="model 'net' takes float32 N × any: export it with a fixed size"):
        segment_times("net", [model], 1, 0.01)
