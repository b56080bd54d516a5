"""Makes templates out of networks that are there: the feature network, and its card."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from serving.catalogue.cards import ModelCard, parse_card, write_card
from serving.catalogue.lookup import Entry, file_sha256, read_weights, verify
from serving.common import files as atomic
from serving.errors import BadInput, ModelError
from serving.graphs.cut_points import CutPoint, all_cut_points
from serving.graphs.shapes import with_item_size
from specialization.templates.feature_network import FEATURES, before_last_layer, early, feature_network
from specialization.templates.stored import (
    EARLY,
    StoredTemplate,
    TemplateManifest,
    early_name,
    feature_entry,
    open_template,
    write_manifest,
)

FILE = "model.onnx"

Cut = Callable[[onnx.ModelProto], CutPoint]


def derived(entry: Entry, directory: Path) -> StoredTemplate:
    """The template of an oracle cut early, in a folder of ``directory``; made unless it is there and whole.

    Without store and rates. Raises ModelError where the network cannot be cut so, BadInput where it cannot be written.
    """
    return _template(entry, entry, directory / early_name(entry.card.name), lambda model: early(model, EARLY))


def compact(oracle: Entry, entry: Entry, directory: Path) -> StoredTemplate:
    """The template of a compact network cut before its last layer; else as ``derived``."""
    return _template(oracle, entry, directory / f"{entry.card.name}-features", before_last_layer)


def _template(oracle: Entry, entry: Entry, folder: Path, cut_of: Cut) -> StoredTemplate:
    return _known(oracle, entry, folder) or _made(oracle, entry, folder, cut_of)


def _known(oracle: Entry, entry: Entry, folder: Path) -> StoredTemplate | None:
    """The template that is there, if it is whole and of these networks."""
    try:
        known = open_template(folder)
        features = feature_entry(folder)
        verify(features)
    except ModelError:
        return None
    of = (known.manifest.oracle_identity, known.manifest.network_identity, features.card.input)
    return known if of == (oracle.card.identity, entry.card.identity, entry.card.input) else None


def _made(oracle: Entry, entry: Entry, folder: Path, cut_of: Cut) -> StoredTemplate:
    """Made aside and put in its place as a whole: several processes may want it at once."""
    model = _read(entry)
    try:
        cut = cut_of(model)
    except ModelError as error:
        raise ModelError(f"model {entry.card.name!r}: {error}") from None
    manifest = TemplateManifest(
        oracle=oracle.card.name,
        oracle_identity=oracle.card.identity,
        network=entry.card.name,
        network_identity=entry.card.identity,
        labels=oracle.card.classes,
        cost=cut.flops / _multiply_adds(oracle),
        cost_is="multiply-adds",
        measured=(),
    )
    with _aside(folder, lambda: _known(oracle, entry, folder) is not None) as draft:
        atomic.write(draft / FILE, feature_network(model, cut).SerializeToString())
        write_card(draft, _card(entry.card, draft, cut))
        write_manifest(draft, manifest)
    return open_template(folder)


@contextmanager
def _aside(folder: Path, good: Callable[[], bool]) -> Iterator[Path]:
    """A folder of the same name elsewhere, put in place at the end unless what is there meanwhile is good."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=folder.parent) as place:
            draft = Path(place) / folder.name
            draft.mkdir()
            yield draft
            with suppress(OSError):  # where there is something
                draft.rename(folder)
            if not good():
                shutil.rmtree(folder, ignore_errors=True)
                draft.rename(folder)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written ({error.strerror or error})") from error


def _read(entry: Entry) -> onnx.ModelProto:
    verify(entry)
    return with_item_size(read_weights(entry.path, entry.card), entry.card.input.item_shape)


def _multiply_adds(entry: Entry) -> int:
    """Multiply-adds of the whole network."""
    points = [point for point in all_cut_points(_read(entry)) if point.share > 0]
    if not points:
        raise ModelError(f"model {entry.card.name!r} cannot be cut, so what it costs cannot be counted")
    return round(points[-1].flops / points[-1].share)


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
