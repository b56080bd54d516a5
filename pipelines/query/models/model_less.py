"""From what nodes need to the models that they list: the oracle, and what was profiled as good enough and faster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf

from pipelines.query.draft import Draft
from pipelines.query.needs import Needs, needs_of
from pipelines.query.nodes import DetectNode, NodeSpec, RecogniseNode
from pipelines.query.query_file import DEFAULT_ACCURACY
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry
from serving.common.explain import Problem, choices
from serving.errors import ModelError
from serving.scheduling.estimates import LatencyTable
from serving.variants.timings import VariantFigures
from serving.variants.variant import ON, generate, parse, sizes_of

log = logging.getLogger(__name__)

MOST_MODELS = 6
"""So many models are listed for a node at most: each is loaded, and proves itself on every stream."""

KnownOf = Callable[[str], VariantFigures | None]
"""The figures measured of a model on this machine; raises ModelError for those that cannot be used."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    model: str
    agreement: float
    tail_s: Mapping[int, float]

    @property
    def takes_s(self) -> float:
        return min(self.tail_s.values())

    def meets(self, needs: Needs) -> bool:
        """Whether it takes no longer, and no more of the device, than is needed."""
        latency_ms = 1000 * LatencyTable(self.tail_s)(1)
        cost_ms = 1000 * min(took_s / batch for batch, took_s in self.tail_s.items())
        return latency_ms <= (needs.latency_ms or inf) and cost_ms <= (needs.cost_ms or inf)


def with_models(draft: Draft, catalogue: Catalogue, measured: KnownOf) -> tuple[Draft, list[Problem]]:
    """The draft with a list of models for each node that says what it needs, and what needs cannot be met."""
    accuracy = draft.query.accuracy if draft.query is not None else DEFAULT_ACCURACY
    found: dict[int, NodeSpec] = {}
    problems: list[Problem] = []
    for index, node in draft.nodes.items():
        if isinstance(node, DetectNode | RecogniseNode) and (needs := needs_of(node.models)) is not None:
            try:
                models = _models(node, needs, accuracy, catalogue, measured)
                found[index] = node.listing(needs, models)
            except ModelError as error:
                problems.append(Problem(("nodes", index, "model"), str(error)))
    return _replaced(draft, found, [problem.path[1] for problem in problems]), problems


def _replaced(draft: Draft, found: Mapping[int, NodeSpec], unmet: list[object]) -> Draft:
    """Nodes whose needs are not met are left out, so that their models are not asked for."""
    nodes = {index: found.get(index, node) for index, node in draft.nodes.items() if index not in unmet}
    unread = draft.unread | {draft.nodes[index].name for index in draft.nodes if index in unmet}
    query = draft.query
    if query is not None and found:
        listed = tuple(found.get(index, node) for index, node in enumerate(query.nodes))
        query = query.model_copy(update={"nodes": listed})
    return replace(draft, query=query, nodes=nodes, unread=frozenset(unread))


def _models(
    node: DetectNode | RecogniseNode, needs: Needs, accuracy: float, catalogue: Catalogue, measured: KnownOf
) -> tuple[str, ...]:
    """The oracle first; ModelError where it is not known which."""
    oracle = catalogue.find(needs.task) if needs.task is not None else _only_reference(node, catalogue)
    own = _known(oracle.card.name, measured)
    wanted = accuracy if needs.accuracy is None else needs.accuracy
    if needs.backend is not None:  # its device is another one, and so are times
        good = sorted(_good_enough(oracle, own, wanted, catalogue, measured), key=lambda each: -each.agreement)
        names = [oracle.card.name, *(each.model for each in good)][:MOST_MODELS]
        return tuple(f"{name}{ON}{needs.backend}" for name in names)
    fitting = (each for each in _good_enough(oracle, own, wanted, catalogue, measured) if each.meets(needs))
    others = sorted(fitting, key=lambda each: -each.agreement)
    listed, fastest_s = [oracle.card.name], min(own.tail_s.values()) if own is not None else float("inf")
    for each in others:
        if each.takes_s < fastest_s:  # else a better one is as fast
            listed.append(each.model)
            fastest_s = each.takes_s
    return tuple(listed[:MOST_MODELS])


def _only_reference(node: DetectNode | RecogniseNode, catalogue: Catalogue) -> Entry:
    skill = "detect" if isinstance(node, DetectNode) else "embed" if node.gallery is not None else "classify"
    found = [each for each in catalogue.list() if (each.card.task, each.card.tier) == (skill, "reference")]
    if len(found) == 1:
        return found[0]
    names = [each.card.name for each in found]
    raise ModelError(
        f"'auto' needs one model of tier reference that can {skill}; say {{task: NAME}}{choices('', names)}"
    )


def _good_enough(
    oracle: Entry, own: VariantFigures | None, wanted: float, catalogue: Catalogue, measured: KnownOf
) -> Iterator[_Candidate]:
    """Variants of the oracle, and of models with its classes, that were profiled here and agree often enough."""
    for entry in catalogue.list():
        if not _alike(entry.card, oracle.card):
            continue
        for variant in generate(entry.card.name, sizes=sizes_of(entry.card)):
            name = entry.card.name if variant.id == parse(entry.card.name).id else variant.id
            known = _known(name, measured) if name != oracle.card.name else None
            agreement = None if known is None else _agreement(entry, known, oracle, own)
            if known is not None and agreement is not None and agreement >= wanted:
                yield _Candidate(name, agreement, known.tail_s)


def _alike(card: ModelCard, oracle: ModelCard) -> bool:
    return card.name == oracle.name or (
        card.task == oracle.task == "classify" and set(card.classes) == set(oracle.classes)
    )


def _agreement(entry: Entry, known: VariantFigures, oracle: Entry, own: VariantFigures | None) -> float | None:
    """How often it says what the oracle says: measured of its variants; of other models by how often both are right.

    None where that is not known, as where they were measured on different pictures.
    """
    if entry.card.name == oracle.card.name:
        return known.agreement
    if own is None or known.accuracy is None or not own.accuracy or known.data_sha256 != own.data_sha256:
        return None
    return min(known.accuracy / own.accuracy, 1.0)


def _known(model: str, measured: KnownOf) -> VariantFigures | None:
    try:
        return measured(model)
    except ModelError as error:
        log.warning("%s", error)
        return None
