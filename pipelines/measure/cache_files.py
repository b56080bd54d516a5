"""Where built caches lie: beside the variants and profiles of their model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.environment import artefacts_dir
from serving.catalogue.lookup import Entry
from serving.variants.artefacts import folder, identity
from serving.variants.variant import Variant, reference

if TYPE_CHECKING:
    from operators.recognise.cached import validation

    from cache_adapt.caches import store

FILE, EXPLORED, VALIDATION = "caches.safetensors", "caches.explored.json", "caches.validation"


def caches_file(entry: Entry, variant: Variant | None = None) -> Path:
    """The caches of a model, or of a variant; other weights, or another input, have another folder."""
    return _beside(entry, variant, FILE)


def explored_file(entry: Entry, variant: Variant) -> Path:
    return _beside(entry, variant, EXPLORED)


def validation_folder(entry: Entry) -> Path:
    """Where taps and answers of the pictures of a build lie."""
    return _beside(entry, None, VALIDATION)


def validation_set(entry: Entry) -> validation.ValidationSet | None:
    """They, if there are any; ModelError where they are damaged."""
    from operators.recognise.cached import validation  # brings what builds caches

    return validation.read(validation_folder(entry), entry.card)


def built_caches(entry: Entry, variant: Variant | None = None) -> store.BuiltCaches | None:
    """They, if there are any; ModelError where they cannot be used, or the variant is not there that they were for."""
    from cache_adapt.caches import store  # likewise

    path, name = caches_file(entry, variant), entry.card.name
    if variant is None or variant.profiled == reference(name):
        return store.read(path, name, entry.card.identity)
    if not path.is_file():
        return None
    return store.read(path, variant.profiled.id, identity(entry, variant, artefacts_dir()))


def _beside(entry: Entry, variant: Variant | None, what: str) -> Path:
    """The name says the variant; that of the network as it is says nothing."""
    whole = variant is None or variant.profiled == reference(entry.card.name)
    stem = "" if variant is None or whole else f"{variant.profiled.id.partition('@')[2]}."
    return folder(artefacts_dir(), entry) / f"{stem}{what}"
