"""A last layer on features that stay as they are: learnt from looks, and measured on cameras left out.

What the backbone makes of a picture is computed once, by ONNX Runtime on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks.recogniser_parts.cameras import LeftOut, Named, parts
from datasets.camera_crops import Crop
from serving.catalogue.cards import ImageInput
from serving.common.tensors import Image
from serving.preprocess import batch
from tools.architectures.export import INPUT, export
from tools.shipped.augment import augment
from tools.shipped.classifier import fold_norm
from tools.shipped.collect import FOLDS, TYPES, Sources
from tools.shipped.recipes import Recipe
from tools.shipped.tuning import Looks, as_labelled, tune

AT_ONCE = 2
"""Pictures that are looked at together: more take longer each."""
EVERY = 3
"""Each so-manyth crop is measured."""
LEVELS = tuple(step / 20 for step in range(8, 20))
RIGHT = 0.85
"""What share of the names shall be right, on the mean of the cameras left out."""

Rows = NDArray[np.float32]
See = Callable[[Sequence[Image]], Rows]
"""Pictures → N × F features."""


def seeing(backbone: nn.Module, size: ImageInput) -> See:
    """What shows pictures to the backbone."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "backbone.onnx"
        export(backbone, path, size.width)
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def see(images: Sequence[Image]) -> Rows:
        steps = [images[i : i + AT_ONCE] for i in range(0, len(images), AT_ONCE)]
        return np.concatenate([session.run(None, {INPUT: batch(size, step)[0]})[0] for step in steps])

    return see


def looked(see: See, recipe: Recipe, sources: Sources) -> Looks:
    """The recipe's number of looks at pictures drawn by their chances, each changed once."""
    samples, rng = sources.samples(recipe), np.random.default_rng(recipe.seed)
    drawn = rng.choice(len(samples), recipe.looks, p=samples.chances)
    rows = see([augment(samples.images[i], rng) for i in drawn])
    return Looks(torch.from_numpy(rows)[:, :, None, None], drawn, samples)


def last_layer(recipe: Recipe, sources: Sources, looks: Looks, without: Collection[str] = ()) -> nn.Linear:
    """N × F features → N × classes logits, learnt ``without`` the crops of some cameras."""
    torch.manual_seed(recipe.seed)
    features = looks.maps.shape[1]
    norm, linear = nn.BatchNorm1d(features, affine=False), nn.Linear(features, len(recipe.classes))
    batches = looks.batches(sources.samples(recipe, without), recipe.schedule.batch, np.random.default_rng(recipe.seed))
    tune(
        nn.Sequential(nn.Flatten(), norm, linear),
        batches,
        recipe.schedule,
        partial(as_labelled, smoothing=recipe.schedule.smoothing),
    )
    fold_norm(norm, linear)
    return linear.eval()


def unseen(see: See, recipe: Recipe, sources: Sources, looks: Looks) -> LeftOut:
    """What last layers that have not learnt from a camera say of its crops."""
    crops, found = list[Crop](), list[Rows]()
    for fold in FOLDS:
        own = [crop for crop in sources.crops if crop.camera in fold and crop.label in TYPES][::EVERY]
        layer = last_layer(recipe, sources, looks, fold)
        with torch.inference_mode():
            found.append(layer(torch.from_numpy(see([crop.image for crop in own]))).numpy())
        crops += own
    return LeftOut(crops, np.concatenate(found), recipe.classes)


def least_confidence(named: Named) -> float:
    """The lowest of ``LEVELS`` from which enough names are right."""
    cameras = [part for view, part in parts(named) if view.startswith("camera ")]
    enough = (level for level in LEVELS if np.nanmean([part.precision(level) for part in cameras]) >= RIGHT)
    return next(enough, LEVELS[-1])
