from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmarks.engines_parts.pytorch_engine import PyTorchEngine


class Twice(nn.Module):
    """Answers with two tensors, one of whole numbers."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x.argmax(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_all_outputs_come_in_order_and_keep_their_kind(dtype: torch.dtype) -> None:
    doubled, best = PyTorchEngine(Twice(), dtype=dtype).run(0, np.array([[1, 4, 2], [8, 0, 1]], np.float32))
    assert (doubled.dtype, best.dtype) == (np.float32, np.int64)
    assert doubled.tolist() == [[2, 8, 4], [16, 0, 2]]
    assert best.tolist() == [1, 0]


def test_the_module_given_is_left_as_it_was() -> None:
    """It may be in training: its mode, its place and its gradients are its owner's."""
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    PyTorchEngine(module, dtype=torch.bfloat16).run(0, np.ones((3, 4), np.float32))
    assert module.training
    assert all(weights.requires_grad for weights in module.parameters())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_answers_are_the_processors() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5))
    batch = np.random.default_rng(0).normal(size=(4, 3, 8, 8)).astype(np.float32)
    answers = [PyTorchEngine(module, device).run(0, batch)[0] for device in ("cpu", "cuda")]
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-4)
