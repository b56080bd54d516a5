from __future__ import annotations

import numpy as np
import pytest

from serving.common.tensors import Array
from serving.engines.groups import GroupRequest, NetworkGroup
from serving.errors import ModelError


class Scale:
    """Multiplies its input; notes the length of every batch."""

    def __init__(self, factor: float, batch_limit: int | None = None) -> None:
        self.factor, self.batch_limit = factor, batch_limit
        self.lengths: list[int] = []
        self.closed = 0

    def check(self, batch: Array) -> None:
        if batch.shape[1:] != (2,):
            raise ModelError("takes N × 2")

    def run(self, batch: Array) -> list[Array]:
        self.lengths.append(len(batch))
        return [batch * self.factor, batch.sum(axis=1) * self.factor]

    def memory_bytes(self) -> int:
        return 100

    def close(self) -> None:
        self.closed += 1


def rows(*values: float) -> Array:
    return np.array(values, np.float32)[:, None].repeat(2, axis=1)


def test_a_solo_runs_all_requests_as_one_batch() -> None:
    network = Scale(2)
    answers = NetworkGroup(network).run([GroupRequest("m", rows(1)), GroupRequest("m", rows(2, 3))], step=8)
    assert network.lengths == [3]
    assert [answer[0][:, 0].tolist() for answer in answers] == [[2], [4, 6]]
    assert [answer[1].tolist() for answer in answers] == [[4], [8, 12]]


def test_no_run_is_longer_than_a_step() -> None:
    network = Scale(2)
    (answer,) = NetworkGroup(network).run([GroupRequest("m", rows(1, 2, 3, 4, 5))], step=2)
    assert network.lengths == [2, 2, 1]
    assert answer[0][:, 0].tolist() == [2, 4, 6, 8, 10]


def test_a_prefix_runs_once_for_all_and_every_suffix_for_its_own() -> None:
    prefix, double, triple = Scale(10), Scale(2), Scale(3)
    group = NetworkGroup(prefix, {"double": double, "triple": triple})
    asked = [GroupRequest("double", rows(1, 2)), GroupRequest("triple", rows(3)), GroupRequest("double", rows(4))]
    answers = group.run(asked, step=16)
    assert (prefix.lengths, double.lengths, triple.lengths) == ([4], [3], [1])
    assert [answer[0][:, 0].tolist() for answer in answers] == [[20, 40], [90], [80]]


def test_a_suffix_that_nobody_asked_does_not_run() -> None:
    idle = Scale(3)
    NetworkGroup(Scale(1), {"asked": Scale(1), "idle": idle}).run([GroupRequest("asked", rows(1))], step=4)
    assert idle.lengths == []


def test_the_narrowest_part_limits_a_shared_batch() -> None:
    assert NetworkGroup(Scale(1), {"a": Scale(1, 8), "b": Scale(1, 4)}).batch_limit == 4
    assert NetworkGroup(Scale(1), {"a": Scale(1)}).batch_limit is None


def test_what_does_not_fit_is_refused() -> None:
    for group in (NetworkGroup(Scale(1)), NetworkGroup(Scale(1), {"m": Scale(1)})):
        with pytest.raises(ModelError, match="takes N × 2"):
            group.check("m", np.zeros((1, 3), np.float32))


def test_memory_adds_up_and_is_given_back() -> None:
    parts = [Scale(1), Scale(1), Scale(1)]
    group = NetworkGroup(parts[0], {"a": parts[1], "b": parts[2]})
    assert group.memory_bytes() == 300
    group.close()
    assert [part.closed for part in parts] == [1, 1, 1]
