"""Decodes boxes with class scores for each of them, as SSD has them (Liu et al., 2016), and boxes that the graph itself
has picked; transformers (Carion et al., 2020), whose scores are logits, are read the same way. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from operators.detect.detections import Detections, likely
from serving.catalogue.cards import ImageInput, ModelCard
from serving.catalogue.decodings import SsdDecoding
from serving.common.tensors import Array, numbers, softmax
from serving.errors import ModelError


def ssd(card: ModelCard, rule: SsdDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Return what is in one image, things found twice included; raises ModelError where the outputs do not fit."""
    boxes, scores, labels = _parts(card, item)
    if labels:
        scores, classes = _labelled(card, rule, scores, labels)
    else:
        scores, classes = _best_class(card, rule, scores)
    found = likely(card.name, np.where(classes < 0, -np.inf, scores), threshold)
    return Detections(_corners(card.input, rule, boxes[found]), scores[found], classes[found])


def _parts(card: ModelCard, item: Sequence[Array]) -> tuple[Array, Array, Sequence[Array]]:
    """Boxes K × 4; scores K × classes, or K with labels K and, perhaps, how many of them count."""
    boxes, *rest = item
    columns = boxes.shape[1] if boxes.ndim == 2 else 0
    if columns == 6 and not rest:
        return boxes[:, :4], boxes[:, 4], [boxes[:, 5]]
    if columns == 5 and rest:
        return boxes[:, :4], boxes[:, 4], rest
    if columns == 4 and rest:
        return boxes, rest[0], rest[1:]
    given = ", ".join(" × ".join(map(str, each.shape)) or "a number" for each in item)
    raise ModelError(
        f"model {card.name!r} says {given}; this decoding takes boxes K × 4 and scores: "
        "check the order of 'outputs' in its card"
    )


def _best_class(card: ModelCard, rule: SsdDecoding, scores: Array) -> tuple[Array, Array]:
    """K × classes → score and index of the best class that is not the background."""
    if scores.ndim != 2:
        raise ModelError(f"model {card.name!r} scores boxes, not classes: check the order of 'outputs' in its card")
    scores = _activated(rule, scores)
    if rule.background is not None and rule.background < scores.shape[1]:
        scores = np.delete(scores, rule.background, axis=1)
    if scores.shape[1] != len(card.classes):
        raise ModelError(f"model {card.name!r} scores {scores.shape[-1]} classes, its card lists {len(card.classes)}")
    return scores.max(axis=1), scores.argmax(axis=1)


def _activated(rule: SsdDecoding, scores: Array) -> Array:
    if rule.activation == "sigmoid":
        return 0.5 + 0.5 * np.tanh(0.5 * scores)  # no exponent that could overflow
    return softmax(scores) if rule.activation == "softmax" else scores


def _labelled(card: ModelCard, rule: SsdDecoding, scores: Array, labels: Sequence[Array]) -> tuple[Array, Array]:
    """K scores and labels, and perhaps how many of them count → score and class index, −1 where it is none of ours."""
    classes = numbers(card.name, labels[0]).astype(np.intp) - rule.first_label
    known = (classes >= 0) & (classes < len(card.classes))
    if rule.background is not None:
        known &= labels[0] != rule.background
    if len(labels) > 1:
        known &= np.arange(len(classes)) < numbers(card.name, labels[1])
    return scores, np.where(known, classes, -1)


def _corners(size: ImageInput, rule: SsdDecoding, boxes: Array) -> NDArray[np.float32]:
    if rule.box_order == "yxyx":
        boxes = boxes[:, [1, 0, 3, 2]]
    elif rule.box_order == "cxcywh":
        boxes = np.hstack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
    scale = (size.width, size.height, size.width, size.height) if rule.normalised else (1, 1, 1, 1)
    return (boxes * np.asarray(scale, np.float32)).astype(np.float32)
