"""Whether a query and the models it names fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from operators.recognise.identities import identities
from operators.wire.result import MOVING, UNKNOWN
from pipelines.query.elsewhere.endpoints import EndpointSpec
from pipelines.query.filter_parser import FilterError, parse_selection
from pipelines.query.filters import NUMBER_FIELDS, Selection, leaves
from pipelines.query.lineage import lineage
from pipelines.query.models.remote_models import card_of
from pipelines.query.nodes import FRAME, MOTION, DetectNode, NodeSpec, RecogniseNode, TrackNode, takes_frame
from pipelines.query.zones import MaskSpec, ShapeSpec
from serving.catalogue.cards import ModelCard, Task
from serving.catalogue.lookup import Catalogue
from serving.common.explain import KeyPath, Problem, choices
from serving.errors import BadInput, ModelError
from serving.variants.variant import ON

Words = tuple[str, ...] | None
"""The names that a node may give an object; None where they are not known."""

Places = Sequence[MaskSpec | ShapeSpec]
"""Masks, zones or lines."""

_SKILLS: Mapping[Task, str] = {"detect": "finds objects", "classify": "names classes", "embed": "compares objects"}


def model_problems(
    nodes: Mapping[int, NodeSpec], catalogue: Catalogue, places: Mapping[str, Places] = {}
) -> Iterator[Problem]:
    """Problems with models (unknown, unsuitable), galleries, and words of filters and places that no model says.

    ``places``: masks, zones and lines, by their keys.
    """
    yield from _endpoint_problems(nodes)
    words: dict[str, Words] = {}
    for index, node in nodes.items():
        words[node.name], found = _check(("nodes", index), node, catalogue)
        yield from found
    by_name = {node.name: node for node in nodes.values()}
    for index, node in nodes.items():
        yield from _filter_problems(("nodes", index, "input"), node, by_name, words)
    finders = [node for node in nodes.values() if not isinstance(node, TrackNode | RecogniseNode)]
    for key, given in places.items():
        said = [words[node.name] for node in finders if key != "masks" or takes_frame(node)]
        yield from _place_problems(key, given, said)


def _place_problems(key: str, given: Places, said: Sequence[Words]) -> Iterator[Problem]:
    """Labels of masks, zones or lines that no detector says whose objects they are about."""
    known = [word for words in said for word in words or ()]
    if any(words is None for words in said):
        return
    for index, each in enumerate(given):
        for place, label in enumerate(each.labels or ()):
            if label not in known:
                what = f"{label!r} is nothing that is found{choices(label, known)}"
                yield Problem((key, index, "labels", place), what)


def _check(path: KeyPath, node: NodeSpec, catalogue: Catalogue) -> tuple[Words, Iterable[Problem]]:
    """The names that the node may give, and the faults of its models."""
    if not isinstance(node, DetectNode | RecogniseNode):
        return None, []
    if isinstance(node, DetectNode) and node.model == (MOTION,):
        return (MOVING,), _label_problems(path, node, (MOVING,))
    cards, problems = _cards(path, node, catalogue)
    classes = tuple(name for card in cards for name in card.classes)
    if isinstance(node, RecogniseNode) and node.gallery is not None:
        names, unusable = _gallery((*path, "gallery"), node.gallery)
        return names, [*problems, *unusable]
    if problems or len(cards) < len(node.model):
        return None, problems
    if isinstance(node, DetectNode):
        return node.labels or classes, _label_problems(path, node, classes)
    return (*classes, UNKNOWN), problems


def _gallery(path: KeyPath, gallery: Path) -> tuple[Words, list[Problem]]:
    try:
        return (*identities(gallery), UNKNOWN), []
    except BadInput as error:
        return None, [Problem(path, str(error))]


def _cards(
    path: KeyPath, node: DetectNode | RecogniseNode, catalogue: Catalogue
) -> tuple[list[ModelCard], list[Problem]]:
    """The cards that are known here, and what is wrong with the models; a backend may have cards of its own."""
    cards: list[ModelCard] = []
    problems: list[Problem] = []
    for place, name in enumerate(node.models):
        where = (*path, "model", place) if len(node.models) > 1 else (*path, "model")
        try:
            card = card_of(node, catalogue, name)
        except ModelError as error:
            if ON in name:
                continue
            problems += [Problem(where, _unfound(name, node, line)) for line in str(error).splitlines()]
            continue
        cards.append(card)
        problems += [Problem(where, mismatch) for mismatch in _mismatches(card, node)]
    return cards, problems


def _endpoint_problems(nodes: Mapping[int, NodeSpec]) -> Iterator[Problem]:
    """Endpoints that are asked the same on other terms: which of them would hold?"""
    first: dict[str, tuple[int, EndpointSpec]] = {}
    for index, node in nodes.items():
        for name, spec in (node.endpoints if isinstance(node, RecogniseNode) else {}).items():
            before, terms = first.setdefault(name, (index, spec))
            if terms != spec:
                what = f"asks the endpoint of nodes[{before}] the same on other terms: say the same there and here"
                yield Problem(("nodes", index, "model"), what)


def _unfound(name: str, node: NodeSpec, message: str) -> str:
    if name != MOTION:
        return message
    if isinstance(node, DetectNode):
        return f"{MOTION!r} cannot be listed beside models: choose one or the other"
    return f"{MOTION!r} finds objects: use it in a node with task: detect"


def _mismatches(card: ModelCard, node: DetectNode | RecogniseNode) -> Iterator[str]:
    skill = f"model {card.name!r} {_SKILLS[card.task]} (task {card.task})"
    if isinstance(node, DetectNode):
        if card.task != "detect":
            yield f"{skill}: a node with task: detect needs a model that finds objects"
    elif card.task == "detect":
        yield f"{skill}: a node with task: recognise needs one that names classes or compares objects"
    elif card.task == "embed" and node.gallery is None:
        yield f"{skill}: it needs a 'gallery' to compare them with"
    elif card.task == "classify" and node.gallery is not None:
        yield f"{skill}: a 'gallery' needs one that compares objects (task embed)"


def _label_problems(path: KeyPath, node: DetectNode, known: tuple[str, ...]) -> Iterator[Problem]:
    for place, label in enumerate(node.labels or ()):
        if label not in known:
            what = f"{label!r} is nothing that the model finds{choices(label, known)}"
            yield Problem((*path, "labels", place), what)


def _filter_problems(
    path: KeyPath, node: NodeSpec, by_name: Mapping[str, NodeSpec], words: Mapping[str, Words]
) -> Iterator[Problem]:
    """Names in a filter that can never occur: misspelt, most likely."""
    try:
        selection = parse_selection(node.input) if node.input else Selection("")
    except FilterError:
        return  # reported already
    before = lineage(selection.node, by_name)
    for leaf in leaves(selection.where):
        if leaf.field in NUMBER_FIELDS or not before:
            continue
        known = _labels(before[-1], words) if leaf.field == "label" else words.get(leaf.field)
        if known is not None and leaf.value not in known:
            yield Problem(path, f"{leaf.field} is never {leaf.value!r}{choices(leaf.value, known)}")


def _labels(first: NodeSpec, words: Mapping[str, Words]) -> Words:
    """The detector's words; an object that is the whole frame has no other than that."""
    return (FRAME,) if isinstance(first, RecogniseNode) else words.get(first.name)
