"""Adds doubt about unfamiliar inputs to the weights of a recogniser that ships."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.random import Generator
from numpy.typing import NDArray

from serving.common.softmax import softmax
from serving.common.tensors import Image
from serving.engines.network import EngineNetwork, run_in_steps
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.segments import split
from serving.preprocess import batch
from specialization.shipped.augment import augment
from specialization.shipped.familiarity import USUAL, Familiarity, certain, doubting, features_of
from specialization.shipped.recipes import Recipe
from specialization.shipped.samples import OTHER, Samples

LEARNT = 6000
"""Pictures, drawn and varied as in the training, that say what is familiar."""
STEP = 32

Rows = NDArray[np.float32]


def doubt(recipe: Recipe, weights: Path, samples: Samples, held_out: Sequence[Image], rng: Generator) -> None:
    """Rewrite the weights of a network; ``held_out``: pictures of the learnt views that it was not trained on."""
    model = certain(onnx.load(weights))
    body, last = (_opened(recipe, part) for part in split(model, [features_of(model)]))
    drawn = rng.choice(len(samples), LEARNT, p=samples.chances)
    learnt = _run(body, _batch(recipe, [augment(samples.images[i], rng) for i in drawn]))
    targets = samples.targets[drawn]
    clear = targets.max(axis=1) > 0.9  # pictures that may be of several classes belong to none
    familiarity = Familiarity.of(learnt, targets.argmax(axis=1), clear)
    features = _run(body, _batch(recipe, held_out))
    rows = softmax(_run(last, features) / recipe.temperature)
    other = recipe.classes.index(OTHER)
    named = (rows.argmax(axis=1) != other) & (rows.max(axis=1) >= recipe.min_confidence)
    limit = float(np.quantile(familiarity.distance(features[named]), USUAL))
    onnx.save(doubting(model, familiarity, limit, other), weights)


def _opened(recipe: Recipe, part: onnx.ModelProto) -> EngineNetwork:
    return EngineNetwork(recipe.name, part, OnnxRuntimeEngine(recipe.name, threads=1))


def _run(network: EngineNetwork, items: Rows) -> Rows:
    found: Rows = run_in_steps(network.run, items, STEP)[0]
    return found.reshape(len(found), -1)


def _batch(recipe: Recipe, images: Sequence[Image]) -> Rows:
    return batch(recipe.input(recipe.side), images)[0]
