"""Caches on a stream that looks unlike what they were learnt from, before and after they are trained anew (Table 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cv2
import numpy as np

from benchmarks.cache_forms_parts.blocks import Blocks
from benchmarks.cache_forms_parts.caches import TrainedCache, cached, elsewhere
from benchmarks.caches_images_parts.cases import decoded
from benchmarks.harness import Row
from serving.common.tensors import Array

CLASSES = (1, 8, 9)
"""Motor cars, ships and lorries: a stream shows few classes."""
DIM, BLUR = 0.5, 0.8
"""Its pictures are darker and less sharp."""


def stream(jpegs: Sequence[Array], labels: Array) -> Array:
    """The stream's items, as the network takes them."""
    mine = [jpeg for jpeg, label in zip(jpegs, labels, strict=True) if label in CLASSES]
    return decoded([_darker(jpeg) for jpeg in mine])


def adapted(network: Blocks, caches: Sequence[TrainedCache], items: Array) -> Iterator[Row]:
    """For each cache: on the stream's second half, as it is and trained anew on the first."""
    blocks, middle = [cache.predictor.block for cache in caches], len(items) // 2
    window, later = (network.outputs(part, blocks) for part in (items[:middle], items[middle:]))
    for cache in caches:
        block, form = cache.predictor.block, cache.predictor.form
        for when, now in (
            ("before", elsewhere(cache, later)),
            ("after", cached(block, form, cache.loss, window, later)),
        ):
            threshold = now.threshold()
            said = {"accuracy": float(now.unseen.right.mean()), "hit_rate": now.unseen.share(threshold)}
            yield {"form": form, "block": block, "when": when, **said, "agreement": now.unseen.accuracy(threshold)}


def _darker(jpeg: Array) -> Array:
    picture = cv2.GaussianBlur(np.asarray(cv2.imdecode(jpeg, cv2.IMREAD_COLOR)) * DIM, (0, 0), BLUR)
    found: Array = cv2.imencode(".png", picture.astype(np.uint8))[1]
    return found
