"""Inputs whose activations tell the answer the better the later the cut, and caches trained on them."""

from __future__ import annotations

import numpy as np

from benchmarks.caches_parts.explore import Cut
from benchmarks.caches_parts.training import Lessons
from cache_adapt.learned.vocabulary import Vocabulary

CLASSES = 4
GRID = (8, 4, 4)
SHA = "ab" * 32


VOCABULARY = Vocabulary(CLASSES, 0.0)


def lessons(noise: float, count: int = 900, seed: int = 0, soft: bool = False) -> Lessons:
    """Easy and hard inputs: hard ones have three times the noise."""
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 1, (CLASSES, int(np.prod(GRID)))).astype(np.float32)
    rng = np.random.default_rng([seed, 1])  # the same inputs for every noise
    answers, hard = rng.integers(0, CLASSES, count), 1 + 2 * rng.random(count)
    wobble = rng.normal(0, 1, (count, centres.shape[1]))
    features = (centres[answers] + wobble * (noise * hard)[:, None]).astype(np.float32)
    doubt = 0.02 if soft else 0.0
    shares = np.full((count, CLASSES), doubt, np.float32)
    shares[np.arange(count), answers] = 1 - doubt * (CLASSES - 1)
    return Lessons.of(features, GRID, shares, VOCABULARY)


def cuts(count: int = 900) -> list[Cut]:
    """Three cuts of a network of 8 ms."""
    return [
        Cut(f"layer{place}", place * 2e-3, 5e-5, lessons(noise, count))
        for place, noise in ((1, 4.0), (2, 2.6), (3, 1.8))
    ]
