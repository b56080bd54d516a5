"""Templates: compact networks that heads can be trained for, each made for one oracle.

A directory each, with a feature network (a model of the task ``embed``), ``template.json`` and, where there was a
training set, a feature store.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from msgspec import structs

from learning.array_files import FEATURES
from serving.catalogue.cards import ModelCard, read_card
from serving.catalogue.lookup import Entry
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from specialization.rates import NEVER, MeasuredRates, Template
from specialization.templates.prospects import Prospect, at_most

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).parent / "shipped"
MANIFEST = "template.json"
EARLY = 0.2
"""Share of the oracle's multiply-adds that its early cut may take."""


class TemplateManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``template.json``."""

    oracle: str
    oracle_identity: str
    """``ModelCard.identity``: a template is for these weights, fed in this way."""
    network: str
    """The network that the feature network was cut from: the oracle itself, or a compact network."""
    network_identity: str
    labels: tuple[str, ...]
    """The oracle's classes, which the store's labels count through; empty: an oracle that names whom it was shown."""
    cost: float
    """Cost of one input, as a share of the oracle's."""
    cost_is: str
    """``latency``: measured; ``multiply-adds``: counted."""
    measured: tuple[MeasuredRates, ...]
    """Ascending by tolerance; empty where there was no training set: nobody knows, until a stream's samples tell."""
    data: str = ""
    """The source of the training set, in words."""
    data_sha256: str = ""


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template in its directory."""

    name: str
    directory: Path
    labels: tuple[str, ...]
    manifest: TemplateManifest
    has_store: bool

    @property
    def measured(self) -> Sequence[MeasuredRates]:
        """Rates, ascending by tolerance."""
        return self.manifest.measured

    @property
    def is_early(self) -> bool:
        """Whether it is the oracle's own first layers."""
        return self.manifest.network_identity == self.manifest.oracle_identity

    @property
    def prospect(self) -> Prospect:
        """Its prospects before anything has run here."""
        return Prospect(self.manifest.cost, self.measured)

    def at(self, tolerance: float, cost: float, passed: float = 1.0) -> Template:
        """The template for WEG, from the largest measured tolerance allowed.

        ``cost``, and ``passed``, the oracle's for what heads pass on: as measured on this machine.
        """
        allowed = at_most(self.measured, tolerance)
        return Template(self.name, cost, allowed.rates if allowed else NEVER, passed)

    def with_rates(self, measured: Sequence[MeasuredRates]) -> StoredTemplate:
        """The same with other rates, ascending by tolerance; with none, no head will be asked for."""
        return replace(self, manifest=structs.replace(self.manifest, measured=tuple(measured)))


def templates_for(directories: Sequence[Path], oracle: ModelCard) -> list[StoredTemplate]:
    """Those made for this very oracle, the first of each name; damaged and outdated ones are logged and left out."""
    found: dict[str, StoredTemplate] = {}
    for template in all_templates(directories):
        if isinstance(template, ModelError):
            log.warning("%s: this template is not used", template)
        elif template.manifest.oracle_identity == oracle.identity:
            found.setdefault(template.name, template)
        elif template.has_store and template.manifest.oracle == oracle.name:
            log.warning(
                "%s: this template is not used: %s has other weights or another input now; make it anew with: "
                "sluice specialize profile %s",
                template.directory,
                oracle.name,
                oracle.name,
            )
    return list(found.values())


def to_derive(oracle: Entry, directory: Path) -> StoredTemplate:
    """The template that ``derived`` will give, before it was made: nothing is read or written."""
    name, card = early_name(oracle.card.name), oracle.card
    manifest = TemplateManifest(
        card.name, card.identity, card.name, card.identity, card.classes, EARLY, "multiply-adds", ()
    )
    return StoredTemplate(name, directory / name, card.classes, manifest, has_store=False)


def early_name(oracle: str) -> str:
    """The name of the template that an oracle is cut to."""
    return f"{oracle}-early{round(EARLY * 100)}"


def all_templates(directories: Sequence[Path]) -> Iterator[StoredTemplate | ModelError]:
    """Every template, for whichever oracle, or what is wrong with it."""
    for directory in (path.parent for each in directories for path in sorted(each.glob(f"*/{MANIFEST}"))):
        try:
            yield open_template(directory)
        except ModelError as error:
            yield ModelError(f"{error}; remove the folder, or make it again with: sluice specialize profile")


def open_template(directory: Path) -> StoredTemplate:
    """Read a template's directory; ModelError where something is missing or wrong. Weights are not verified yet."""
    entry = feature_entry(directory)
    if entry.card.task != "embed":
        raise ModelError(f"{directory}: the network must be of the task embed, not {entry.card.task}")
    if not entry.path.is_file():
        raise ModelError(f"{directory}: {entry.card.file} is missing")
    path = directory / MANIFEST
    try:
        manifest = decode(path.read_bytes(), TemplateManifest)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except Malformed as error:
        raise ModelError(f"{path}: not a template ({error})") from None
    _check(path, manifest)
    return StoredTemplate(directory.name, directory, manifest.labels, manifest, (directory / FEATURES).is_file())


def feature_entry(directory: Path) -> Entry:
    """The feature network, as a catalogue's model; ModelError where there is none."""
    card = read_card(directory)
    if card.name != directory.name:
        raise ModelError(f"{directory}: the card's name is {card.name!r}, but that of the folder is another")
    return Entry(card, directory)


def write_manifest(directory: Path, manifest: TemplateManifest) -> None:
    """Write ``template.json`` in one step: last of all files, since a directory without it is no template."""
    atomic.write(directory / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


def _check(path: Path, manifest: TemplateManifest) -> None:
    shares = [share for each in manifest.measured for rates in each.rates.values() for share in structs.astuple(rates)]
    sizes = [n for each in manifest.measured for n in each.rates]
    tolerances = [each.tolerance for each in manifest.measured]
    if not all(each.rates for each in manifest.measured) or not all(n >= 1 for n in sizes):
        raise ModelError(f"{path}: every tolerance needs rates for 1 class or more")
    if tolerances != sorted(tolerances) or not all(0 <= share <= 1 for share in shares):
        raise ModelError(f"{path}: rates must be shares, by ascending tolerance")
    if not manifest.cost > 0:
        raise ModelError(f"{path}: cost must be above 0")
