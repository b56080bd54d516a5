"""The generated street. Its folder ``datasets`` is a checkout's: it is not installed with Sluice."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from serving.errors import SourceError


def drawing() -> ModuleType:
    """The package that draws; SourceError where it is not here."""
    try:
        return import_module("datasets.street")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("datasets"):
            raise
        advice = "give a clip, a camera or, by --data, pictures"
        raise SourceError(f"streets are drawn in a checkout of Sluice alone; {advice}", "invalid_uri") from None
