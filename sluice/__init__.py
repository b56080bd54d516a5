"""Sluice for Python programs: the one package to import, and the one that is kept stable.

Nothing heavy is imported before it is used.

Read in this order: ``runs``, ``query``, ``results``, ``topics``.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from operators.base import Call, Operator
    from operators.frames.frame import Box, Frame, Region
    from operators.observer import Observer
    from operators.recognise.own import OwnRecogniser as Recogniser
    from operators.wire.schema import Attribute, Counts, Event, Model, Notification, Object
    from pipelines.observe.forward.sink import Sink
    from serving.errors import BadInput, ModelError, QueryError, SluiceError, SourceError, Unavailable
    from sluice.query import Query
    from sluice.results import Result
    from sluice.runs import arun, run
    from sluice.topics import watch, watch_events

    __version__: str

__all__ = [
    "Attribute", "BadInput", "Box", "Call", "Counts", "Event", "Frame", "Model", "ModelError", "Notification", "Object",
    "Observer", "Operator", "Query", "QueryError", "Recogniser", "Region", "Result", "Sink", "SluiceError",
    "SourceError", "Unavailable", "__version__", "arun", "run", "watch", "watch_events",
]  # fmt: skip

_PLACES = {
    "operators.base": ("Call", "Operator"),
    "operators.frames.frame": ("Box", "Frame", "Region"),
    "operators.observer": ("Observer",),
    "operators.wire.schema": ("Attribute", "Counts", "Event", "Model", "Notification", "Object"),
    "pipelines.observe.forward.sink": ("Sink",),
    "serving.errors": ("BadInput", "ModelError", "QueryError", "SluiceError", "SourceError", "Unavailable"),
    "sluice.query": ("Query",),
    "sluice.results": ("Result",),
    "sluice.runs": ("arun", "run"),
    "sluice.topics": ("watch", "watch_events"),
}
_PLACE_OF = {name: f"{module}:{name}" for module, names in _PLACES.items() for name in names}
_PLACE_OF["Recogniser"] = "operators.recognise.own:OwnRecogniser"


def __dir__() -> list[str]:
    return list({*globals(), *__all__})


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # takes as long as all else here

        return version("sluice-video")
    if name not in _PLACE_OF:
        raise AttributeError(f"module 'sluice' has no attribute {name!r}")
    found = globals()[name] = resolve_name(_PLACE_OF[name])
    return found
