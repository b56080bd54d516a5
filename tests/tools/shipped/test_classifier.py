"""What the classifier at the end is shown: the means of one stage, or of two."""

from __future__ import annotations

import torch
from torch import nn

from tools.shipped.classifier import Classifier, Late, fold_norm


class Twice(nn.Module):
    """Each value twice, in twice the channels."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((2 * x, 2 * x), dim=1)


def features(widths: tuple[int, ...]) -> list[float]:
    """What the linear layer is given of three channels that are 1."""
    late = Late(Twice(), Twice(), widths, classes=2, dropped=0.5)
    late.norm, seen = nn.Identity(), list[torch.Tensor]()
    late.linear.register_forward_hook(lambda _, given, __: seen.append(given[0]))
    Classifier(nn.Identity(), late).eval()(torch.ones(1, 3, 4, 4))
    return seen[0][0].tolist()


def test_the_means_of_both_stages_are_classified_or_those_of_the_last() -> None:
    assert features((6, 12)) == [2.0] * 6 + [4.0] * 12
    assert features((12,)) == [4.0] * 12


def test_the_normalisation_is_folded_and_features_that_hardly_vary_are_left_out() -> None:
    torch.manual_seed(0)
    norm, linear = nn.BatchNorm1d(3, affine=False), nn.Linear(3, 2)
    norm.running_mean, norm.running_var = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 0.25, 1e-6])
    norm.eval()
    items = torch.rand(5, 3)
    wanted = linear(norm(items) * torch.tensor([1.0, 1.0, 0.0]))
    fold_norm(norm, linear)
    assert torch.allclose(linear(items), wanted, atol=1e-5)
    assert linear.weight[:, 2].tolist() == [0.0, 0.0]


def test_features_are_dropped_only_while_it_learns() -> None:
    torch.manual_seed(0)
    late = Late(nn.Identity(), nn.Identity(), (64,), classes=2, dropped=0.5)
    items = torch.rand(2, 64, 1, 1)
    assert not torch.equal(late.train()(items), late(items))
    assert torch.equal(late.eval()(items), late(items))
