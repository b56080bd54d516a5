"""Imports Faust without ``aiohttp``, which takes .09 s of the import's .25 s, and 10 MB, for the sake of one type.

The type is that of ``App.http_client``, which we never use. A later import of ``aiohttp`` gets the real one.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

WEB = ("aiohttp", "aiohttp.client")


def import_faust() -> None:
    """Call before Faust makes its first app; later it does nothing."""
    if "faust.types.web" in sys.modules or "aiohttp" in sys.modules:
        return
    stand_ins = {name: ModuleType(name) for name in WEB}
    stand_ins["aiohttp.client"].ClientSession = object  # type: ignore[attr-defined]
    sys.modules.update(stand_ins)
    try:
        importlib.import_module("faust.types.web")
    finally:
        for name in WEB:
            del sys.modules[name]
