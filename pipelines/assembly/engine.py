"""The engine of a query: the networks of this process, and what runs elsewhere where a node names that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.environment import backend, ledger_path
from pipelines.process.extras import need
from pipelines.query.compiled import CompiledQuery
from pipelines.query.endpoints import EndpointSpec
from pipelines.query.nodes import RecogniseNode
from serving.common.clock import SYSTEM
from serving.common.engine_observer import UNOBSERVED, EngineObserver

if TYPE_CHECKING:
    from serving.backend import Backend
    from serving.remote.endpoint.engine import EndpointEngine


def engine_of(wanted: CompiledQuery, observer: EngineObserver = UNOBSERVED) -> Backend | EndpointEngine:
    """Runs a query's models, not yet started; BadInput where the key of an endpoint is not to be had."""
    local = backend(wanted.catalogue, observer)
    specs = _endpoints(wanted)
    if not specs:
        return local
    need("aiohttp")
    from serving.budgets.day_budget import DayBudget
    from serving.budgets.ledger import FileLedger
    from serving.remote.endpoint.engine import EndpointEngine  # HTTP, which other queries do without
    from serving.remote.endpoint.vision_models import VisionModels

    ledger = FileLedger(ledger_path(wanted.query.name))
    opened = [(spec.opened(where), DayBudget(spec.budget_terms(), ledger, SYSTEM.now)) for where, spec in specs]
    return EndpointEngine(local, VisionModels(opened), observer)


def _endpoints(wanted: CompiledQuery) -> list[tuple[str, EndpointSpec]]:
    """Each once, with the place that names it."""
    found: dict[str, tuple[str, EndpointSpec]] = {}
    for node in wanted.dag.nodes:
        if isinstance(node.spec, RecogniseNode):
            for name, spec in node.spec.endpoints.items():
                found.setdefault(name, (f"node {node.name}: model", spec))
    return list(found.values())
