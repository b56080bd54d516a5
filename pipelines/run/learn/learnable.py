"""The recognise nodes of a query that exits can be learnt for, and why the others have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cache_adapt.learned.specs import ExitCut, fitting
from cache_adapt.learned.vocabulary import Vocabulary
from pipelines.assembly.node_words import NodeWords
from pipelines.measure.exit_places import exit_places
from pipelines.query.dag import CompiledQuery
from pipelines.query.models.remote_models import roles_of
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import ModelError
from serving.variants.variant import parse

TRIED = (0.12, 0.22, 0.32, 0.44, 0.55, 0.66, 0.77, 0.87)
"""Shares of the network's work at which exits are tried."""
LAST = 0.95
"""The same up to which an exit can spare anything."""


@dataclass(frozen=True)
class LearnableNode:
    spec: RecogniseNode
    oracle: str
    entry: Entry
    """The oracle's."""
    cuts: Sequence[ExitCut]
    """Where exits are tried, in dataflow order."""
    vocabulary: Vocabulary


@dataclass(frozen=True)
class Learnable:
    """The recognise nodes of a query."""

    nodes: Sequence[LearnableNode]
    others: Mapping[str, str]
    """By name: why nothing can be learnt for a node."""

    @classmethod
    def of(cls, wanted: CompiledQuery) -> Learnable:
        """Look at every node; reads the graphs of its oracles."""
        nodes, others = list[LearnableNode](), dict[str, str]()
        for spec in (each.spec for each in wanted.dag.nodes):
            if not isinstance(spec, RecogniseNode):
                continue
            try:
                nodes.append(_node(spec, wanted.catalogue))
            except ModelError as error:
                others[spec.name] = str(error)
        return cls(nodes, others)


def _node(spec: RecogniseNode, known: Catalogue) -> LearnableNode:
    """ModelError where there can be no exits."""
    if spec.gallery is not None:
        raise ModelError("who is in a gallery may change: exits for it are learnt while streams run")
    oracle = roles_of(spec, known).oracle
    if parse(oracle).backend is not None:
        raise ModelError(f"{oracle} is elsewhere: it has no layers here at which an exit could read")
    if oracle not in spec.models:
        raise ModelError(f"exits are in {oracle}: list it as a model")
    entry = known.find(parse(oracle).model)
    cuts = [cut for cut in exit_places(entry, TRIED) if cut.share <= LAST]
    if not cuts:
        raise ModelError(f"{entry.card.name} has no layer before its last ones at which an exit could read")
    vocabulary = NodeWords.of_classes(entry.card, spec.min_confidence).vocabulary
    if vocabulary.labels < 2:
        raise ModelError(f"{entry.card.name} has one name to give: there is nothing to tell apart")
    return LearnableNode(spec, oracle, entry, fitting(cuts, vocabulary.labels), vocabulary)
