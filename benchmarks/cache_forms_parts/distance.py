"""Caches that keep what they have seen: the nearest neighbours, by hashes of them, and clusters (GATI, Table 1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
from sklearn.cluster import KMeans
from torch import Tensor

from benchmarks.harness import Row
from serving.common.tensors import Array

NEIGHBOURS, CLUSTERS = 50, 100
TABLES, BITS = 8, 12
ASKED = 200

Lookup = Callable[[Array], int]


def distances(learnt: Tensor, words: Tensor, unseen: Tensor, wanted: Tensor) -> Iterator[Row]:
    """A row for each; N × values of 16 bit, and the words of both."""
    stored, known = learnt.flatten(1).float().numpy(), words.numpy()
    asked, right = unseen[:ASKED].flatten(1).float().numpy(), wanted[:ASKED].numpy()
    for name, (lookup, memory_mb) in {
        "k-NN": _nearest(stored, known),
        "LSH": _hashed(stored, known),
        "k-means": _clustered(stored, known),
    }.items():
        found, seconds = [], []
        for item in asked:
            started_s = time.process_time()
            found.append(lookup(item))
            seconds.append(time.process_time() - started_s)
        accuracy = float((np.array(found) == right).mean())
        yield {"form": name, "accuracy": accuracy, "lookup_ms": 1e3 * median(seconds), "memory_mb": memory_mb}


def _most(words: Array) -> int:
    return int(np.bincount(words).argmax()) if len(words) else -1


def _nearest(stored: Array, known: Array) -> tuple[Lookup, float]:
    squares = (stored**2).sum(axis=1)

    def lookup(item: Array) -> int:
        far = squares - 2 * (stored @ item)
        return _most(known[np.argpartition(far, NEIGHBOURS)[:NEIGHBOURS]])

    return lookup, stored.nbytes / 1e6


def _hashed(stored: Array, known: Array) -> tuple[Lookup, float]:
    """Random hyperplanes; the nearest of those that share a bucket in any table."""
    planes = np.random.default_rng(0).normal(size=(stored.shape[1], TABLES * BITS)).astype(np.float32)
    middle, powers = stored.mean(axis=0), 1 << np.arange(BITS)
    keys = ((stored - middle) @ planes > 0).reshape(len(stored), TABLES, BITS) @ powers

    def lookup(item: Array) -> int:
        mine = ((item - middle) @ planes > 0).reshape(TABLES, BITS) @ powers
        there = np.flatnonzero((keys == mine).any(axis=1))
        far = ((stored[there] - item) ** 2).sum(axis=1)
        return _most(known[there[np.argsort(far)[:NEIGHBOURS]]])

    return lookup, (stored.nbytes + planes.nbytes + keys.nbytes) / 1e6


def _clustered(stored: Array, known: Array) -> tuple[Lookup, float]:
    # Chosen at random: the usual way to choose the first centres takes longer here than all else.
    first = stored[np.random.default_rng(0).permutation(len(stored))[:CLUSTERS]]
    fitted = KMeans(CLUSTERS, init=first, n_init=1, max_iter=10, random_state=0).fit(stored)
    centres = fitted.cluster_centers_.astype(np.float32)
    squares, words = (
        (centres**2).sum(axis=1),
        np.array([_most(known[fitted.labels_ == each]) for each in range(CLUSTERS)]),
    )

    def lookup(item: Array) -> int:
        return int(words[(squares - 2 * (centres @ item)).argmin()])

    return lookup, centres.nbytes / 1e6
