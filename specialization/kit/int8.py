"""The int8 variant of a recogniser: built on half of some crops, compared on the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Entry, read_weights
from serving.common.tensors import Array
from serving.engines.network import EngineNetwork, run_in_steps
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.preprocess import batch
from serving.variants.artefacts import Calibration, build
from serving.variants.variant import Variant
from specialization.kit.crops import Crops
from specialization.kit.features import STEP

MOST = 400
"""Crops, half of them for either."""


@dataclass(frozen=True, slots=True)
class Int8:
    """A variant that was built, and the share of its answers that are the network's."""

    name: str
    agreement: float


def built(entry: Entry, crops: Crops, artefacts_dir: Path) -> Int8:
    """Build it where variants lie; ModelError where the network cannot be quantised."""
    count = len(crops.labels)
    chosen = set(np.linspace(0, count - 1, min(count, MOST)).astype(int).tolist())
    items = np.concatenate([batch(entry.card.input, [each])[0] for at, each in enumerate(crops.images) if at in chosen])
    variant = Variant(entry.card.name, "onnxruntime", "int8")
    path = build(entry, variant, artefacts_dir, Calibration(items[::2], crops.sha256))
    answers = [
        _answers(entry.card, model, items[1::2]) for model in (read_weights(entry.path, entry.card), onnx.load(path))
    ]
    return Int8(variant.id, float((answers[0] == answers[1]).mean()))


def _answers(card: ModelCard, model: onnx.ModelProto, items: Array) -> Array:
    network = EngineNetwork(card.name, model, OnnxRuntimeEngine(card.name, threads=1))
    try:
        answers: Array = run_in_steps(network.run, items, STEP)[0].argmax(axis=1)
    finally:
        network.close()
    return answers
