"""Makes templates out of networks that are there: the feature network, and its card."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import onnx

from serving import atomic
from serving.cards import ModelCard, parse_card, write_card
from serving.catalogue import Entry, file_sha256, verify
from serving.errors import ModelError
from serving.networks.segments import CutPoint, all_cut_points
from serving.networks.shapes import with_item_size
from serving.weights import read_weights
from specialization.feature_network import FEATURES, before_last_layer, early, feature_network
from specialization.templates import Manifest, StoredTemplate, feature_entry, open_template, write_manifest

EARLY = 0.2
"""Share of the oracle's multiply-adds that its early cut may take."""
FILE = "model.onnx"

Cut = Callable[[onnx.ModelProto], CutPoint]


def derived(entry: Entry, directory: Path, most_share: float | None = None) -> StoredTemplate:
    """The template of an oracle cut early, in a folder of ``directory``; made unless it is there and whole.

    Without store and rates. Raises ModelError where the network cannot be cut so, BadInput where it cannot be written.
    """
    share = EARLY if most_share is None else most_share
    folder = directory / f"{entry.card.name}-early{round(share * 100)}"
    return _template(entry, entry, folder, lambda model: early(model, share))


def compact(oracle: Entry, entry: Entry, directory: Path) -> StoredTemplate:
    """The template of a compact network cut before its last layer; else as ``derived``."""
    return _template(oracle, entry, directory / f"{entry.card.name}-features", before_last_layer)


def _template(oracle: Entry, entry: Entry, folder: Path, cut_of: Cut) -> StoredTemplate:
    try:
        known = open_template(folder)
        verify(feature_entry(folder))
    except ModelError:
        return _made(oracle, entry, folder, cut_of)
    of = (known.manifest.oracle_sha256, known.manifest.network_sha256)
    return known if of == (oracle.card.sha256, entry.card.sha256) else _made(oracle, entry, folder, cut_of)


def _made(oracle: Entry, entry: Entry, folder: Path, cut_of: Cut) -> StoredTemplate:
    model = _read(entry)
    try:
        cut = cut_of(model)
    except ModelError as error:
        raise ModelError(f"model {entry.card.name!r}: {error}") from None
    shutil.rmtree(folder, ignore_errors=True)
    atomic.write(folder / FILE, feature_network(model, cut).SerializeToString())
    write_card(folder, _card(entry.card, folder, cut))
    manifest = Manifest(
        oracle=oracle.card.name,
        oracle_sha256=oracle.card.sha256,
        network=entry.card.name,
        network_sha256=entry.card.sha256,
        labels=oracle.card.classes,
        cost=cut.flops / _multiply_adds(_read(oracle)),
        cost_is="multiply-adds",
        measured=(),
    )
    write_manifest(folder, manifest)
    return open_template(folder)


def _read(entry: Entry) -> onnx.ModelProto:
    verify(entry)
    return with_item_size(read_weights(entry.path, entry.card), entry.card.input.item_shape)


def _multiply_adds(model: onnx.ModelProto) -> int:
    """Of the whole network."""
    last = all_cut_points(model)[-1]
    return round(last.flops / last.share)


def _card(card: ModelCard, folder: Path, cut: CutPoint) -> ModelCard:
    raw = {
        "name": folder.name,
        "version": card.version,
        "tier": "features",
        "task": "embed",
        "file": FILE,
        "sha256": file_sha256(folder / FILE),
        "licence": card.licence,
        "source": f"{card.name}, cut at {cut.tensor}",
        "description": f"What heads read from: {cut.share:.0%} of the multiply-adds of {card.name}",
        "input": card.input.model_dump(exclude_unset=True),
        "outputs": (FEATURES,),
        "max_batch": card.max_batch,
    }
    return parse_card(raw, str(folder))
