from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from serving.architectures import fx
from serving.architectures.export import to_onnx
from serving.architectures.resnet import resnet18
from serving.errors import ModelError
from serving.graphs.segments import cut_points


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x)) * self.scale
        x = torch.relu(self.second(x) + x)
        return self.third(x.view(x.size(0), -1) * self.scale)


def test_cut_points_lie_between_blocks() -> None:
    points = fx.all_cut_points(Residual(), (4,))
    assert [point.tensor for point in points] == ["first", "relu", "mul", "add", "relu_1", "view", "mul_1"]
    layers = fx.cut_points(Residual(), (4,))
    assert [(point.tensor, point.shape, point.flops) for point in layers] == [
        ("mul", (None, 6), 24),
        ("mul_1", (None, 6), 24 + 36),
    ]
    assert layers[0].share == 24 / (24 + 36 + 18)


def test_segments_compose_to_the_whole_and_share_its_weights() -> None:
    module = Residual().eval()
    segments = fx.split(module, [point.tensor for point in fx.all_cut_points(module, (4,)) if point.tensor != "view"])
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        whole = module(x)
        for segment in segments:
            x = segment(x)
    assert torch.allclose(x, whole, atol=1e-6)
    parts = {parameter.data_ptr() for segment in segments for parameter in segment.parameters()}
    assert parts == {parameter.data_ptr() for parameter in module.parameters()}


def test_a_network_has_the_same_points_as_its_export() -> None:
    network = resnet18(10).eval()
    traced, exported = fx.cut_points(network, (3, 64, 64)), cut_points(to_onnx(network, 64))
    assert [(point.shape, point.flops) for point in traced] == [(point.shape, point.flops) for point in exported]
    assert np.allclose([point.share for point in traced], [point.share for point in exported])


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        (["relu_2"], "not all data pass it; did you mean 'relu_1'"),
        (["second"], "cannot cut at 'second': not all data pass it"),
        (["relu_1", "mul"], "cannot cut at 'relu_1', then at 'mul': give each once"),
        (["mul", "mul"], "give each once"),
    ],
)
def test_bad_cuts_say_what_is_wrong(cuts: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        fx.split(Residual(), cuts)


def test_what_cannot_be_traced_says_so() -> None:
    class Deciding(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x if x.sum() > 0 else -x

    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x + y

    with pytest.raises(ModelError, match=r"Deciding cannot be traced: .*control flow"):
        fx.cut_points(Deciding(), (4,))
    with pytest.raises(ModelError, match="Two: a network that is cut must have one input"):
        fx.cut_points(Two(), (4,))


def test_a_value_without_the_batch_on_its_first_axis_is_no_cut() -> None:
    class Turned(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(torch.relu(x.T).T)

    assert [point.tensor for point in fx.all_cut_points(Turned(), (3,))] == ["getattr_2"]
