"""A first query file: from sources and from words for what is to be found. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from operators.capture.sources.uri import SourceUri
from operators.wire.result import MOVING
from pipelines.query.nodes import MOTION
from pipelines.query.query_file import stream_ids
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue
from serving.catalogue.public import public_models
from serving.common.explain import choices
from serving.errors import BadInput

FPS = 5
SLO_MS = 500
EVERYDAY = ("person", "bicycle", "car", "motorcycle", "bus", "truck")
"""The default search: people and vehicles, as detectors call them."""
LEAST = ("person", "car")
"""Those of them that a detector has to know."""

Classes = Mapping[str, Sequence[str]]
"""The words of each model, by its name."""


@dataclass(frozen=True)
class ModelWords:
    detectors: Classes
    recognisers: Classes
    public: Classes
    """Detectors that are not here, and can be pulled, the smallest first."""


@dataclass(frozen=True)
class Finder:
    detector: str
    labels: tuple[str, ...] = ()
    """The detector is to report these; (): all that it finds."""
    recogniser: str | None = None
    """Names what was found."""
    named: tuple[str, ...] = ()
    """The labels of objects that the recogniser has words for; (): it looks at all."""


def words_of(known: Catalogue) -> ModelWords:
    """The words of a catalogue's models, and of those that can be pulled into it."""
    cards = [entry.card for entry in known.list()]
    here = {card.name for card in cards}
    small_first = sorted(public_models().items(), key=lambda each: each[1].builds[0].size_bytes)
    public = {name: model for name, model in small_first if name not in here}
    return ModelWords(
        {card.name: card.classes for card in cards if card.task == "detect"},
        {card.name: [word for word in card.classes if word != card.other_label] for card in cards if _names(card)},
        {name: model.class_names() for name, model in public.items() if model.card.get("task") == "detect"},
    )


def everyday(words: ModelWords) -> Finder:
    """People and vehicles, by the first detector that knows persons and cars; without one whatever moves.

    >>> everyday(ModelWords({}, {}, {})).detector
    'motion'
    """
    detector = _who(LEAST, words.detectors)
    if detector is None:
        return Finder(MOTION)
    return Finder(detector, tuple(word for word in EVERYDAY if word in words.detectors[detector]))


def better(words: ModelWords) -> str | None:
    """The detector to pull where none of these is here; None where one is.

    >>> better(ModelWords({}, {}, {"tiny": ["car", "person"]})), better(ModelWords({"tiny": ["car", "person"]}, {}, {}))
    ('tiny', None)
    """
    return _who(LEAST, words.public) if everyday(words).detector == MOTION else None


def finder(wanted: Sequence[str], words: ModelWords, recogniser: str | None = None) -> Finder:
    """Who finds these things; raises BadInput where nobody here does. ``recogniser``: the one to name them, if any.

    A detector that knows all the words is preferred to a recogniser that names what moves.

    >>> finder(["car"], ModelWords({}, {"vehicle-type": ["car", "truck"]}, {}))
    Finder(detector='motion', labels=(), recogniser='vehicle-type', named=())
    """
    sought = tuple(dict.fromkeys(word for word in wanted if word != MOVING))
    if not sought:
        return Finder(MOTION, (), recogniser)
    if (detector := _who(sought, words.detectors)) is not None:
        named = [word for word in sought if word in words.recognisers.get(recogniser or "", ())]
        return Finder(detector, sought, recogniser, tuple(named) if len(named) < len(sought) else ())
    if (namer := _who(sought, words.recognisers)) is not None and recogniser in (None, namer):
        return Finder(MOTION, (), namer)
    if (public := _who(sought, words.public)) is not None:
        raise BadInput(f"no model here finds {', '.join(sought)}: `sluice models pull {public}` fetches one that does")
    known = [MOVING, *_all(words.detectors), *_all(words.recognisers), *_all(words.public)]
    unknown = [word for word in sought if word not in known]
    if unknown:
        raise BadInput(f"--find {unknown[0]!r}: no model finds it{choices(unknown[0], known)}")
    raise BadInput(f"no single model finds {', '.join(sought)}: make a query for each, or write one with several nodes")


def _names(card: ModelCard) -> bool:
    return card.task == "classify"


def _who(sought: Sequence[str], models: Classes) -> str | None:
    return next((name for name, classes in models.items() if set(sought) <= set(classes)), None)


def _all(models: Classes) -> Iterable[str]:
    return (word for classes in models.values() for word in classes)


def query_name(stem: str) -> str:
    """A name for a query that is made for a file of this name.

    >>> query_name("Back yard!"), query_name("...")
    ('back-yard', 'query')
    """
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:50].strip("-") or "query"


class SecretFiles:
    """Names a file beside the query for each secret of its addresses."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self.names: dict[str, str] = {}
        """By secret."""

    def place(self, secret: str) -> str:
        """A secret's placeholder in the query."""
        number = len(self.names) + 1
        name = self.names.setdefault(secret, f"{self._stem}{'' if number == 1 else f'-{number}'}.secret")
        return f"${{file:{name}}}"


def query_text(name: str, sources: Sequence[SourceUri], found: Finder, secrets: SecretFiles) -> str:
    """The query file; ``secrets`` learns which files belong to it."""
    when = None if found.detector == MOTION else "needed"
    nodes = [_node("detect", "detect", model=found.detector, when=when, labels=list(found.labels) or None)]
    nodes.append(_node("track", "track", input="detect"))
    if found.recogniser is not None:
        only = f"[label in ({', '.join(map(_text, found.named))})]" if found.named else ""
        nodes.append(_node("name", "recognise", input=f"track{only}", model=found.recogniser))
    streams = [
        f"  - {{id: {_text(name)}, uri: {_text(each.with_secrets_replaced(secrets.place))}, sample: {_sample(each)}}}"
        for name, each in zip(stream_ids(sources), sources, strict=True)
    ]
    return "\n".join(
        [
            "# Made by `sluice init`. docs/query.md explains every key, and those that are not here.",
            *("version: 1", f"name: {_text(name)}", f"slo_ms: {SLO_MS}", "streams:", *streams, "nodes:", *nodes, ""),
        ]
    )


def _sample(source: SourceUri) -> str:
    return "all" if source.of_pictures else f"{{fps: {FPS}}}"


def _node(name: str, task: str, **keys: object) -> str:
    said = "".join(f", {key}: {_text(value)}" for key, value in keys.items() if value is not None)
    return f"  - {{name: {name}, task: {task}{said}}}"


def _text(value: object) -> str:
    """JSON, which YAML reads as it is meant; plain words without quotes."""
    if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9-]*", value) and value not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
