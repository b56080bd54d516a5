"""Trains predictors and selectors: two small layers, Adam (Kingma and Ba, 2015), in numpy.

The networks are a hidden layer and an output layer, whose gradients are a few products of matrices: no reason for a
training process to import PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.caches_parts.forms import Grid, Values, form
from benchmarks.caches_parts.predictor import Predictor
from benchmarks.caches_parts.selector import FALSE_POSITIVE, HIDDEN, Selector
from cache_adapt.learned.vocabulary import Shares, Vocabulary, WordNumbers
from serving.common.tensors import softmax

BATCH, EPOCHS = 128, 12
RATE = 0.002
SINGLE_RATE = 0.01
"""For a predictor without a hidden layer, which has no layer behind it to help."""
DECAY = 0.004
"""Share of a predictor's weights that a step takes away (Loshchilov and Hutter, 2019): it has seen few inputs, and what
it says must tell how sure it may be. Chosen on cross-fitted predictions for the inputs that
``benchmarks/caches_images.py`` builds from."""
LEAST_STEPS = 150
"""Few inputs are shown more often."""
SOFT = 0.5
"""Weight of the network's distribution in what a predictor is to say; the rest is its word (Hinton et al., 2014)."""
SELECTOR_EPOCHS = 30


@dataclass(frozen=True, slots=True)
class Lessons:
    """An exit's training data: N inputs that went through the whole network."""

    features: Values
    """N × (C·H·W) pooled activations."""
    grid: Grid
    shares: Shares
    """N × L, the probabilities that are to be told."""
    vocabulary: Vocabulary
    words: WordNumbers
    """N: the words that are to be said."""
    seen: tuple[int, ...]
    """The words that an exit knows, ascending."""

    @classmethod
    def of(cls, features: Values, grid: Grid, shares: Shares, vocabulary: Vocabulary) -> Lessons:
        """Inputs of which the network says these probabilities."""
        words = vocabulary.of(shares)
        return cls(features, grid, shares, vocabulary, words, tuple(np.unique(words).tolist()))

    def rows(self, chosen: NDArray[np.bool_] | slice) -> Lessons:
        """Some of them, with the same words to know."""
        return replace(self, features=self.features[chosen], shares=self.shares[chosen], words=self.words[chosen])

    def right(self, distribution: Values) -> NDArray[np.bool_]:
        """Whether each of N × ``seen`` predictions says the network's word."""
        right: NDArray[np.bool_] = np.array(self.seen)[distribution.argmax(axis=1)] == self.words
        return right

    @property
    def wanted(self) -> Values:
        """N × ``seen``: between the network's word and its probabilities; those of no names are the word unknown's."""
        count, unknown = len(self.words), self.vocabulary.unknown
        soft = np.concatenate([self.shares, np.zeros((count, 1), np.float32)], axis=1)
        nameless = list(self.vocabulary.nameless)
        soft[:, unknown] = soft[:, nameless].sum(axis=1)
        soft[:, nameless] = 0
        said = np.eye(unknown + 1, dtype=np.float32)[self.words]
        soft[self.words == unknown] = said[self.words == unknown]
        mixed = ((1 - SOFT) * said + SOFT * soft)[:, list(self.seen)]
        found: Values = (mixed / mixed.sum(axis=1, keepdims=True)).astype(np.float32)
        return found


def train_predictor(name: str, lessons: Lessons, rng: Generator, epochs: int = EPOCHS) -> Predictor:
    """Train a predictor of a form to say what the network says (distillation)."""
    chosen = form(name)
    count = len(lessons.features)
    pieces = chosen.pieces(lessons.features.astype(np.float32).reshape(count, *lessons.grid))
    mean, scale = _standard(pieces)
    pieces = (pieces - mean) * scale
    width = chosen.hidden
    inside = pieces.shape[1] * (width or pieces.shape[2])
    layers = [_begun(pieces.shape[2], width, rng)] if width else []
    layers.append(_begun(inside, len(lessons.seen), rng))
    _fit(layers, pieces, lessons.wanted, None, rng, epochs, DECAY)
    weights, bias = layers[0]
    if width:
        return Predictor(name, lessons.grid, _folded(weights, bias, mean, scale), layers[1])
    parts = pieces.shape[1]
    return Predictor(name, lessons.grid, None, _folded(weights, bias, np.tile(mean, parts), np.tile(scale, parts)))


def _folded(weights: Values, bias: Values, mean: Values, scale: Values) -> tuple[Values, Values]:
    """The same layer for values that are not standardised."""
    folded = (weights * scale[:, None]).astype(np.float32)
    return folded, (bias - mean @ folded).astype(np.float32)


def train_selector(distribution: Values, right: NDArray[np.bool_], rng: Generator) -> Selector:
    """Train a selector from predictions (N × words) on inputs that the predictor was not trained on."""
    layers = [_begun(distribution.shape[1], HIDDEN, rng), _begun(HIDDEN, 2, rng)]
    wanted = np.stack([~right, right], axis=1).astype(np.float32)
    weights = np.where(right, 1.0, FALSE_POSITIVE).astype(np.float32)
    _fit(layers, distribution[:, None, :], wanted, weights / weights.mean(), rng, SELECTOR_EPOCHS)
    (hidden, output) = layers
    # Two outputs through softmax are one, the difference, through the logistic function.
    return Selector(hidden, (output[0][:, 1:] - output[0][:, :1], output[1][1:] - output[1][:1]))


def _standard(pieces: Values) -> tuple[Values, Values]:
    flat = pieces.reshape(-1, pieces.shape[2])
    spread = flat.std(axis=0)
    # What never varies tells nothing.
    scale = np.where(spread > 1e-6, 1 / np.maximum(spread, 1e-6), 0)
    return flat.mean(axis=0), scale.astype(np.float32)


Layer = tuple[Values, Values]


def _begun(inputs: int, outputs: int, rng: Generator) -> Layer:
    weights = rng.normal(0, np.sqrt(2 / inputs), (inputs, outputs)).astype(np.float32)
    return weights, np.zeros(outputs, np.float32)


def _fit(
    layers: Sequence[Layer],
    pieces: Values,
    wanted: Values,
    weights: Values | None,
    rng: Generator,
    epochs: int,
    decay: float = 0.0,
) -> None:
    """Change the layers in place until they say what is wanted."""
    each = max(-(-len(pieces) // BATCH), 1)
    epochs = max(epochs, -(-LEAST_STEPS // each)) if epochs else 0
    adam = _Adam([part for layer in layers for part in layer], RATE if len(layers) > 1 else SINGLE_RATE, decay)
    with threadpool_limits(1, user_api="blas"):  # the matrices are too small for several threads
        for step, rows in enumerate(_batches(len(pieces), epochs, rng)):
            slopes = _slopes(layers, pieces[rows], wanted[rows], None if weights is None else weights[rows])
            adam.step(slopes, 1 - step / (epochs * each))


class _Adam:
    """Adam with decay of the weights, which changes them in place."""

    def __init__(self, parts: Sequence[Values], rate: float, decay: float) -> None:
        self._parts, self._rate, self._decay, self._steps = parts, rate, decay, 0
        self._mean, self._square = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]

    def step(self, slopes: Sequence[Values], share: float) -> None:
        """One step at a share of the first rate."""
        self._steps += 1
        bias1, bias2 = 1 - 0.9**self._steps, 1 - 0.999**self._steps
        for part, slope, mean, square in zip(self._parts, slopes, self._mean, self._square, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            step = self._rate * (mean / bias1) / (np.sqrt(square / bias2) + 1e-8)
            part -= share * (step + self._decay * part if part.ndim > 1 else step)


def _batches(count: int, epochs: int, rng: Generator) -> Iterator[NDArray[np.intp]]:
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[start : start + BATCH] for start in range(0, count, BATCH))


def _slopes(layers: Sequence[Layer], pieces: Values, wanted: Values, weights: Values | None) -> list[Values]:
    """The gradient of the mean cross-entropy, in the order of the layers' parts."""
    inside = pieces
    if len(layers) == 2:
        inside = np.maximum(pieces @ layers[0][0] + layers[0][1], 0)
    flat = inside.reshape(len(inside), -1)
    out_weights, out_bias = layers[-1]
    error = (softmax(flat @ out_weights + out_bias) - wanted) / len(flat)
    if weights is not None:
        error *= weights[:, None]
    slopes = [flat.T @ error, error.sum(axis=0)]
    if len(layers) == 1:
        return slopes
    back = (error @ out_weights.T).reshape(inside.shape) * (inside > 0)
    back = back.reshape(-1, back.shape[2])
    return [pieces.reshape(-1, pieces.shape[2]).T @ back, back.sum(axis=0), *slopes]
