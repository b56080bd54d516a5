"""Caches whose thresholds are still closed: trained on everything, to be tuned on inputs that come later."""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

from numpy.random import default_rng

from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.store import BuiltCaches, Card, cards
from cache_adapt.caches.training import Lessons, train_predictor


def untuned(model: str, identity: str, lessons: Mapping[str, Lessons], form: str, seed: int) -> BuiltCaches:
    """One cache for each cut tensor, in the order of the network; none of them answers yet."""
    caches = tuple(
        LearnedCache(tensor, train_predictor(form, each, default_rng([seed, crc32(tensor.encode())])), None, 0.0)
        for tensor, each in lessons.items()
    )
    any_ = next(iter(lessons.values()))
    card = Card(
        schema="sluice.caches/1",
        model=model,
        model_identity=identity,
        classes=any_.classes,
        agreement=0.0,
        of="answers",
        samples=len(any_.features),
        speedup=1.0,
        caches=cards(caches, [0.0] * len(caches)),
    )
    return BuiltCaches(card, caches)
