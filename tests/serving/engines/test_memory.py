"""Memory is measured while a network is loaded, and comes back when it is closed."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from serving.engines.engine import give_back, resident_bytes
from serving.engines.execution_device import used_bytes
from serving.graphs.quantise import quantised
from tests.serving.engines.kinds import KINDS, SIDE, Kind, items
from tools.architectures.export import to_onnx

WIDTH = 1536
ON_GPU = 0 if used_bytes() is None else 1 << 30
"""What libraries take for each session on a GPU, whatever the network."""


@pytest.fixture(scope="module")
def wide() -> nn.Module:
    """Two thick layers: 14 MB of weights."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).eval()


@pytest.fixture(scope="module")
def wide_fp32(wide: nn.Module) -> onnx.ModelProto:
    return to_onnx(wide, SIDE)


@pytest.fixture(scope="module")
def wide_int8(wide_fp32: onnx.ModelProto) -> onnx.ModelProto:
    return quantised("wide", wide_fp32, items(8))


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def segment(kind: Kind, request: pytest.FixtureRequest) -> bytes:
    return request.getfixturevalue("wide_int8" if kind.precision == "int8" else "wide_fp32").SerializeToString()


def test_a_networks_memory_is_at_least_its_weights_and_comes_back(kind: Kind, segment: bytes) -> None:
    after = []
    for _ in range(8):
        engine = kind.load([segment])
        assert len(segment) <= engine.memory_bytes() <= 20 * len(segment) + ON_GPU
        engine.run(0, items(4))
        engine.close()
        after.append(resident_bytes())
    # The first rounds load what the runtime keeps for good. One network that stayed would already be seen.
    assert after[-1] - after[3] < len(segment) / 2


def test_what_is_no_longer_used_is_given_back() -> None:
    before = resident_bytes()
    blocks = [np.ones(25_000) for _ in range(300)]
    assert resident_bytes() - before > 40_000_000
    del blocks
    give_back()
    assert resident_bytes() - before < 20_000_000
