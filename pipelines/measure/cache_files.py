"""Where built caches lie: beside the variants and profiles of their model."""

from __future__ import annotations

from pathlib import Path

from cache_adapt.caches import store
from pipelines.settings import cache_dir
from serving.catalogue.lookup import Entry
from serving.variants.artefacts import folder, user_cache

FILE, EXPLORED = "caches.safetensors", "caches.explored.json"


def caches_file(entry: Entry) -> Path:
    """The caches that were built for a model; other weights, or another input, have another folder."""
    return folder(cache_dir() or user_cache(), entry) / FILE


def built_caches(entry: Entry) -> store.BuiltCaches | None:
    """They, if there are any; ModelError where they cannot be used."""
    return store.read(caches_file(entry), entry.card.identity)
