"""Libraries that only some commands need. They come with extras of the package, and what is missing names its extra."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec

from serving.errors import BadInput

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "kafka": ("aiokafka", "faust", "mode", "kafka", "crc32c"),
    "serve": ("aiohttp", "prometheus_client"),
    "mqtt": ("paho",),
    "remote": ("grpc", "google"),
    "parquet": ("pyarrow",),
    "train": ("torch",),
}
"""The purpose of each, by the names that are imported. Engines are no commands': ``sluice doctor`` names theirs."""


def remedy(module: str | None) -> str | None:
    """One line for a module that was not found; None where no extra brings it."""
    name = (module or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if name in modules), None)
    return None if extra is None else f"{name} is not installed: {install(extra)}"


def install(*extras: str) -> str:
    return f"pip install 'sluice-video[{','.join(extras)}]'"


def need(module: str) -> None:
    """BadInput where it is missing: for what is imported only after long work."""
    if not _here(module):
        raise BadInput(remedy(module) or f"{module} is not installed")


def absent() -> list[str]:
    """The extras that are not installed, or not whole."""
    return [extra for extra, modules in EXTRAS.items() if not all(map(_here, modules))]


def _here(module: str) -> bool:
    # Faust, once imported, has no spec.
    return module in sys.modules or find_spec(module) is not None
