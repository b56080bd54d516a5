"""Tuning learns from labels, also where several may be right, and remembers what a part makes of pictures."""

from __future__ import annotations

import numpy as np
import torch

from serving.catalogue.cards import ImageInput
from tools.architectures.resnet import ResNet, Stem
from tools.shipped.augment import augment
from tools.shipped.samples import Samples
from tools.shipped.training import Change, Schedule, to_tensor
from tools.shipped.tuning import drawn, remembered, tune

SIZE = ImageInput(width=16, height=16, scale=1 / 255, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
CLASSES = ("flat", "striped")


def _stripes() -> Samples:
    flat = np.full((24, 24, 3), 120, np.uint8)
    striped = flat.copy()
    striped[::6] = striped[1::6] = striped[2::6] = 250
    return Samples.of([(flat, "flat")] * 3 + [(striped, "striped")], (*CLASSES, "other"))


def _learnt(samples: Samples, change: Change) -> list[str]:
    torch.manual_seed(0)
    network = ResNet(3, (1,), Stem(3, 2, pool=False), widths=(8,))
    schedule = Schedule(steps=60, rate=5e-3, report_every=1000)
    tune(network, drawn(SIZE, samples, 16, _rng(), change), schedule)
    with torch.inference_mode():
        said = network(to_tensor(SIZE, _stripes().images[2:])).argmax(1).tolist()
    return [(*CLASSES, "other")[number] for number in said]


def test_it_learns_from_labels() -> None:
    assert _learnt(_stripes(), augment) == ["flat", "striped"]


def test_any_of_several_allowed_classes_is_right() -> None:
    """Flat pictures may be called either, so that stripes alone say what is flat and what is not."""
    samples = _stripes()
    allowed = samples.targets.copy()
    allowed[:3] = (0.5, 0, 0.5)
    either = Samples(samples.images, allowed, samples.chances)
    assert _learnt(either, augment)[1] == "striped"
    assert _learnt(either, augment)[0] in ("flat", "other")


def test_what_is_remembered_is_what_the_part_makes_of_the_pictures() -> None:
    double = torch.nn.Conv2d(3, 3, 1, bias=False)
    torch.nn.init.constant_(double.weight, 0.5)
    shown = drawn(SIZE, _stripes(), 4, _rng(), lambda image, _: image)
    known = remembered(double, shown, 10, _rng())
    batches = [next(known) for _ in range(3)]
    assert [len(items) for items, _ in batches] == [4, 4, 4], "three batches of four make ten or more"
    wanted = {round(float(each.sum()), 1) for each in double(to_tensor(SIZE, _stripes().images)).detach()}
    assert {
        min(wanted, key=lambda sure: abs(sure - float(each.sum()))) for items, _ in batches for each in items
    } == wanted
    assert all(torch.equal(allowed.sum(dim=1), torch.ones(4)) for _, allowed in batches)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
