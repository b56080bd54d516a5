"""Public weights become a model: an ONNX file and its card in a folder of the model's name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from serving.catalogue.cards import ModelCard, parse_card, write_card
from serving.catalogue.lookup import file_sha256
from serving.errors import ModelError
from tools.architectures.export import OUTPUT, export
from tools.architectures.registry import Architecture, load_weights

FILE = "model.onnx"


def convert(architecture: Architecture, weights: Path, into: Path, card: Mapping[str, Any], *, half: bool) -> Path:
    """Fill an architecture from safetensors and write it below ``into``; the folder appears when it is whole.

    ``card`` is what ``model.yaml`` shall say, without task, file, SHA-256 and outputs. ModelError where it or the
    weights are wrong, or the folder exists.
    """
    draft = _card(card, "0" * 64)
    folder = into / draft.name
    if folder.exists():
        raise ModelError(f"{folder} exists: remove it, or give the model another name")
    network = architecture.build(len(draft.classes))
    load_weights(network, weights)
    into.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".export-", dir=into) as scratch:
        part = Path(scratch) / draft.name
        part.mkdir()
        _export(architecture.name, network, part / FILE, draft.input.width, half)
        write_card(part, _card(card, file_sha256(part / FILE)))
        part.rename(folder)
    return folder


def _card(card: Mapping[str, Any], sha256: str) -> ModelCard:
    rest = {"version": "1", "task": "classify", "file": FILE, "sha256": sha256, "outputs": [OUTPUT]}
    return parse_card({**rest, **card}, "the card")


def _export(name: str, network: nn.Module, path: Path, size: int, half: bool) -> None:
    try:
        export(network, path, size, half=half)
    except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{name} cannot be exported for images of {size} × {size} pixels: {reason}") from error
