"""The models that a command can use, and the engine that runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.settings import cache_dir, device, model_dirs, model_memory, model_timeout_s
from serving.catalogue.lookup import Catalogue, search_path
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.remote.endpoint.terms import is_endpoint

if TYPE_CHECKING:
    from serving.backend import Backend
    from serving.variants.timings import VariantFigures


def catalogue(given: Sequence[Path]) -> Catalogue:
    """The models of the given directories, of ``SLUICE_MODELS``, pulled ones, and those that ship."""
    return Catalogue(search_path([*given, *model_dirs()]))


def artefacts_dir() -> Path:
    """Where variants, profiles and learned exits of this machine lie."""
    from serving.variants.artefacts import (
        user_cache,  # brings onnx and numpy, which a query with a mistake does without
    )

    return cache_dir() or user_cache()


def ledger_path(query: str) -> Path:
    """The file that knows what was spent of a query's budgets on this day."""
    return artefacts_dir() / "budgets" / f"{query}.json"


def measured(known: Catalogue) -> Callable[[str], VariantFigures | None]:
    """A model's figures on this machine, by its name; it raises ModelError for those that cannot be used."""
    from serving.variants.timings import measured as of
    from serving.variants.variant import parse

    def found(model: str) -> VariantFigures | None:
        if is_endpoint(model):  # it is not measured
            return None
        variant = parse(model)
        if variant.backend is not None:  # its times are those of the wire, which a process measures for itself
            return None
        return of(known.find(variant.model), variant, artefacts_dir())

    return found


def backend(known: Catalogue, observer: EngineObserver = UNOBSERVED) -> Backend:
    """Runs them as the environment says; not yet started. BadInput where that cannot be."""
    from serving.backend import Backend  # brings the runtimes, which most commands do without
    from serving.engines.execution_device import use
    from serving.scheduling.limits import NetworkBounds

    use(*device())
    bounds = NetworkBounds(model_memory(), batch_s=model_timeout_s())
    return Backend(known, bounds=bounds, artefacts_dir=cache_dir(), observer=observer)
