"""One adaptation worker process: exits, and what training them may cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.trainer import NodeNetwork, Trainer
from learning.budget import Budget
from pipelines.assembly.node_words import NodeWords, lending, lent_identity, runs_elsewhere
from pipelines.observe.watchers import watched
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_loop_on_signals
from pipelines.query.dag import Dag
from pipelines.query.models.remote_models import card_of, roles_of
from pipelines.query.nodes import NOTHING_LEARNS, RecogniseNode, learns
from pipelines.worker.adapt.service import Service, ServiceConfig
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput

AT_ONCE_S = 60.0
"""Processor seconds that may be spent at once; further ones as time passes."""


async def adapt(
    config: ServiceConfig,
    networks: Mapping[str, NodeNetwork],
    share: float,
    listen: Listen | None = None,
    alive: Path | None = None,
) -> None:
    """Adapt until a signal comes. ``networks``: by the names of their nodes.

    ``share``: of one core, what training may use; ``listen`` and ``alive``: as ``watched`` takes them.
    """
    adaptation = Adaptation(Trainer(networks), allowance(share))
    async with watched(listen, alive) as observers:
        with stop_loop_on_signals() as stop:
            await Service(replace(config, observers=observers), adaptation).run(stop)


def allowance(share: float) -> Budget:
    """Processor time for training: a share of one core over all passed time, and ``AT_ONCE_S`` in advance."""
    began_s = time.monotonic() - AT_ONCE_S / share
    return Budget(share, lambda: time.monotonic() - began_s)


def adapted(dag: Dag, known: Catalogue) -> Mapping[str, NodeNetwork]:
    """By the names of their nodes; BadInput where none learns from its streams."""
    nodes = [node.spec for node in dag.nodes if isinstance(node.spec, RecogniseNode) and learns(node.spec)]
    if not nodes:
        raise BadInput(NOTHING_LEARNS)
    return {spec.name: _network(spec, known) for spec in nodes}


def _network(spec: RecogniseNode, known: Catalogue) -> NodeNetwork:
    roles = roles_of(spec, known)
    oracle = roles.oracle
    card = card_of(spec, known, oracle)
    if spec.gallery is not None:
        return NodeNetwork(oracle, card.identity)
    words = NodeWords.of_classes(card, spec.min_confidence)
    lender = lending(roles, known) if runs_elsewhere(oracle) else None
    identity = card.identity if lender is None else lent_identity(lender.entry.card, card)
    return NodeNetwork(oracle, identity, words.digest, words.vocabulary)
