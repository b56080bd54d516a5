"""The models that a command can use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.settings import model_dirs
from serving.catalogue import Catalogue, search_path


def catalogue(given: Sequence[Path]) -> Catalogue:
    """The models of the given directories, of ``SLUICE_MODELS``, pulled ones, and those that ship."""
    return Catalogue(search_path([*given, *model_dirs()]))
