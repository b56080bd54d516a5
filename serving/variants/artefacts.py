"""The files that variants run from: built once, kept in a cache, and refused unless they are what was written.

``CACHE/variants/<model>-<start of its identity>/`` holds ``int8.onnx``, ``fp16.onnx``, ``fp32-size320.onnx`` …, beside
each a note of its sha256, and the model's profiles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import platformdirs

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry, file_sha256, read_weights, verify, weights
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.variants.variant import Variant, cells, parse, sized

if TYPE_CHECKING:
    import onnx

    from serving.common.tensors import Array


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The checksums of a built file."""

    sha256: str
    data_sha256: str | None
    """Checksum of the calibration data; None where it needed none."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model, or a variant of it, that can be opened."""

    name: str
    """The name it was asked for by."""
    entry: Entry
    variant: Variant
    path: Path
    """The ONNX file to run."""
    latency_s: Mapping[int, float] = field(default_factory=dict, compare=False)
    """Latency by batch size, as far as it was measured on this machine."""
    directory: Path | None = field(default=None, compare=False)
    """Where the model's figures on this machine are kept; None: nowhere."""
    cuts: tuple[str, ...] | None = None
    """Where the network is cut, so that each row has a policy; None: it is run whole."""
    shape: tuple[int, int] | None = None
    """Width and height of the pictures it is run on; None: as its card says."""

    @property
    def card(self) -> ModelCard:
        """The model's card, with the input that it is run on."""
        card = self.whole_card
        if self.shape is None:
            return card
        width, height = self.shape
        return card.model_copy(update={"input": card.input.model_copy(update={"width": width, "height": height})})

    @property
    def whole_card(self) -> ModelCard:
        """The model's card, with the input that the variant takes."""
        return sized(self.entry.card, self.variant)

    def could_share(self, other: ResolvedModel) -> bool:
        """Whether both take the same pixels into the same engine: the least that a common prefix needs."""
        mine, others = self.variant, other.variant
        if self.cuts is not None or other.cuts is not None:
            return False
        return (self.card.input, mine.engine, mine.precision) == (other.card.input, others.engine, others.precision)


def user_cache() -> Path:
    """Where artefacts lie unless the settings name another place."""
    return Path(platformdirs.user_cache_dir("sluice"))


def folder(artefacts_dir: Path, entry: Entry) -> Path:
    """Where a model's artefacts and profiles lie; other weights, or another input, have another folder."""
    return artefacts_dir / "variants" / f"{entry.card.name}-{entry.card.identity[:12]}"


def resolve(name: str, catalogue: Catalogue, artefacts_dir: Path) -> ResolvedModel:
    """The variant, or the model, of this name; raises ModelError where it is unknown, not built or damaged."""
    variant = parse(name)
    entry = catalogue.find(variant.model)
    sized(entry.card, variant)  # raises where the model cannot take it
    path = artefact(entry, variant, artefacts_dir)
    return ResolvedModel(name, entry, variant, path, directory=folder(artefacts_dir, entry))


def artefact(entry: Entry, variant: Variant, artefacts_dir: Path) -> Path:
    """The file a variant runs from, whole; raises ModelError that says how to build it."""
    path = _path(entry, variant, artefacts_dir)
    if path == entry.path:
        return weights(entry)
    note = _note(path)
    if note is None or not path.is_file():
        raise ModelError(f"variant {variant.id!r} is not built yet; {_remedy(variant)}")
    found = file_sha256(path)
    if found != note.sha256:
        raise ModelError(
            f"variant {variant.id!r}: {path} ({path.stat().st_size} bytes) is damaged: sha256 is {found[:12]}…, "
            f"should be {note.sha256[:12]}…; {_remedy(variant, '--again')}"
        )
    return path


def identity(entry: Entry, variant: Variant, artefacts_dir: Path) -> str:
    """Digest of what exactly a variant runs; for the network as it is, its card's. ModelError where it is not built."""
    path = artefact(entry, variant, artefacts_dir)
    if path == entry.path:
        return entry.card.identity
    return hashlib.sha256(f"{entry.card.identity} {file_sha256(path)}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Calibration:
    """The pictures on which int8 is calibrated."""

    items: Array
    """Prepared pictures (N × …)."""
    sha256: str
    """The digest of the data that they come from."""


def build(
    entry: Entry, variant: Variant, artefacts_dir: Path, calibration: Calibration | None = None, again: bool = False
) -> Path:
    """The file a variant runs from, made where it is missing, damaged or calibrated on other data.

    ``calibration``: for int8, which cannot do without. ModelError where the network cannot be changed so, BadInput
    where the artefacts cannot be written.
    """
    path = _path(entry, variant, artefacts_dir)
    if path == entry.path:
        verify(entry)
        return path
    depends_on = calibration.sha256 if calibration is not None and variant.precision == "int8" else None
    note = _note(path)
    whole = note is not None and path.is_file() and file_sha256(path) == note.sha256
    if again or note is None or not whole or note.data_sha256 != depends_on:
        verify(entry)
        atomic.write(path, _made(entry, variant, calibration).SerializeToString())
        atomic.write(_note_path(path), msgspec.json.encode(Note(file_sha256(path), depends_on)))
    return path


def _made(entry: Entry, variant: Variant, calibration: Calibration | None) -> onnx.ModelProto:
    model = read_weights(entry.path, entry.card)
    if variant.size is not None:
        model = _resized(model, sized(entry.card, variant), variant)
    if variant.precision == "int8":
        from serving.graphs.quantise import quantised

        if calibration is None:
            raise ModelError(f"variant {variant.id!r}: int8 needs pictures to be calibrated on")
        model = quantised(variant.model, model, calibration.items)
    if variant.precision == "fp16":
        from serving.graphs.quantise import in_half_precision

        model = in_half_precision(variant.model, model)
    return model


def _resized(model: onnx.ModelProto, card: ModelCard, variant: Variant) -> onnx.ModelProto:
    """The network on the card's input; ModelError where it is bound to its own size."""
    from serving.graphs.surgery.reshape import reshaped, specs_of

    reshaped(model, card.input.height, card.input.width)
    found = specs_of(model).get(model.graph.output[0].name)
    if found is None or found.shape[1:2] != (cells(card),):
        raise ModelError(f"variant {variant.id!r}: the network is bound to the size that it was exported with")
    return model


def _path(entry: Entry, variant: Variant, artefacts_dir: Path) -> Path:
    stem = variant.artefact
    return entry.path if stem is None else folder(artefacts_dir, entry) / f"{stem}.onnx"


def _note_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _note(path: Path) -> Note | None:
    """None where there is none that can be read: its file counts as missing then."""
    try:
        return decode(_note_path(path).read_bytes(), Note)
    except (OSError, Malformed):
        return None


def _remedy(variant: Variant, option: str = "") -> str:
    return f"build it with: sluice models profile {variant.model} {option}".rstrip()
