"""Tuning learns from labels, also where several may be right, and remembers what a part makes of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from serving.common.tensors import Image
from tests.tools.shipped.stripes import CLASSES, SIZE, stripes
from tools.architectures.resnet import ResNet, Stem
from tools.shipped.augment import augment
from tools.shipped.samples import Samples
from tools.shipped.training import Change, Schedule, to_tensor
from tools.shipped.tuning import Looking, as_labelled, as_taught, look, mirrored, tune


def _learnt(samples: Samples, change: Change) -> list[str]:
    torch.manual_seed(0)
    network = ResNet(3, (1,), Stem(3, 2, pool=False), widths=(8,))
    schedule = Schedule(steps=60, rate=5e-3, report_every=1000)
    looks = look(torch.nn.Identity(), SIZE, samples, Looking(400, change), _rng())
    tune(network, looks.batches(samples, 16, _rng()), schedule, partial(as_labelled, smoothing=0.05))
    with torch.inference_mode():
        said = network(to_tensor(SIZE, stripes().images[2:])).argmax(1).tolist()
    return [(*CLASSES, "other")[number] for number in said]


def test_it_learns_from_labels() -> None:
    assert _learnt(stripes(), augment) == ["flat", "striped"]


def test_any_of_several_allowed_classes_is_right() -> None:
    """Flat pictures may be called either, so that stripes alone say what is flat and what is not."""
    samples = stripes()
    allowed = samples.targets.copy()
    allowed[:3] = (0.5, 0, 0.5)
    either = Samples(samples.images, allowed, samples.chances)
    assert _learnt(either, augment)[1] == "striped"
    assert _learnt(either, augment)[0] in ("flat", "other")


def test_looks_are_what_the_part_makes_of_the_pictures() -> None:
    double = torch.nn.Conv2d(3, 3, 1, bias=False)
    torch.nn.init.constant_(double.weight, 0.5)
    samples = stripes()
    looks = look(double, SIZE, samples, Looking(10, lambda image, _: image), _rng())
    wanted = double(to_tensor(SIZE, [samples.images[i] for i in looks.drawn])).detach()
    assert torch.allclose(looks.maps.float(), wanted, atol=5e-3)
    items, allowed = next(looks.batches(samples, 6, _rng()))
    assert items.shape == (6, *wanted.shape[1:])
    assert torch.equal(allowed.sum(dim=1), torch.ones(6))


def test_pictures_that_shall_not_be_drawn_are_in_no_batch_and_the_others_as_often_as_they_shall() -> None:
    pictures = [(np.full((8, 8, 3), level, np.uint8), name) for level, name in ((50, "a"), (120, "a"), (200, "b"))]
    cameras = ["here", "there", "there"]
    everything, less = (Samples.of(pictures, ("a", "b", "other"), cameras, without) for without in ((), ("here",)))
    looks = look(torch.nn.Identity(), SIZE, everything, Looking(2000, lambda image, _: image), _rng())
    items, allowed = next(looks.batches(less, 4000, _rng()))
    dark = to_tensor(SIZE, [pictures[0][0]])[0]
    assert not any(torch.allclose(item, dark, atol=1e-2) for item in items)
    assert abs(float(allowed[:, 0].mean()) - 0.5) < 0.05


def test_it_learns_what_its_teacher_says_whatever_the_labels_are() -> None:
    """The teacher calls bright pictures by the third name, dark ones by the first; labels know of stripes only."""

    def teacher(images: Sequence[Image]) -> NDArray[np.float32]:
        return np.array([(0, 0, 4) if image.mean() > 100 else (4, 0, 0) for image in images], np.float32)

    torch.manual_seed(0)
    pictures = [(np.full((8, 8, 3), level, np.uint8), "a") for level in (20, 60, 140, 220)]
    samples = Samples.of(pictures, ("a", "b", "other"))
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * SIZE.width * SIZE.height, 3))
    looks = look(torch.nn.Identity(), SIZE, samples, Looking(64, lambda image, _: image, teacher), _rng())
    tune(network, looks.batches(samples, 16, _rng()), Schedule(steps=60, rate=5e-3, report_every=1000), as_taught)
    with torch.inference_mode():
        said = network(to_tensor(SIZE, samples.images)).argmax(1).tolist()
    assert said == [0, 0, 2, 2]


def test_half_of_the_pictures_are_mirrored_and_keep_their_labels() -> None:
    items = torch.arange(1000.0).repeat_interleave(6).reshape(1000, 1, 2, 3) + torch.tensor([0.0, 0.1, 0.2])
    found, wanted = next(mirrored([(items, torch.arange(1000))], _rng()))
    same = torch.tensor([torch.equal(one, other) for one, other in zip(found, items, strict=True)])
    turned = torch.tensor([torch.equal(one, other.flip(2)) for one, other in zip(found, items, strict=True)])
    assert torch.equal(wanted, torch.arange(1000))
    assert (same ^ turned).all()
    assert 400 < int(turned.sum()) < 600


def test_what_is_left_is_the_mean_of_the_weights_and_not_the_last_ones() -> None:
    """A weight that only grows: its mean lies behind."""
    network, seen = torch.nn.Linear(1, 1, bias=False), list[float]()
    torch.nn.init.zeros_(network.weight)

    def loss_of(said: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        seen.append(said.item())
        return -said.mean()

    tune(network, [(torch.ones(1, 1), torch.ones(1))] * 40, Schedule(steps=40, rate=0.5, report_every=1000), loss_of)
    assert not network.training
    assert seen == sorted(seen)
    assert 0 < network.weight.item() < seen[-1]


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
