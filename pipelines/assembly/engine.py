"""The engine of a query: the networks of this process, and what runs elsewhere where a node names that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from pipelines.assembly.planners import Measures
from pipelines.environment import backend, ledger_path
from pipelines.process.extras import need
from pipelines.query.dag import CompiledQuery
from pipelines.query.elsewhere.backends import addresses
from pipelines.query.elsewhere.endpoints import EndpointSpec
from pipelines.query.models.remote_models import named_backends
from pipelines.query.nodes import DetectNode, RecogniseNode
from serving.common.clock import SYSTEM
from serving.remote.endpoint.terms import ENDPOINT
from serving.remote.router import Router
from serving.variants.variant import ANYWHERE, placed

if TYPE_CHECKING:
    from serving.backend import Backend
    from serving.remote.client.backend_client import BackendClient
    from serving.remote.client.pick import PlacedRates
    from serving.remote.endpoint.endpoints_client import EndpointsClient
    from serving.remote.session_meter import SessionMeter


QUICK = 0.5
"""A request that takes this share of a frame's time is quick enough: the other half is for what is done around it."""


class QueryEngine(Inference, Measures, Protocol):
    """The engine as those see it who start and stop it."""

    @property
    def hung(self) -> asyncio.Event:
        """Is set once a network did not return and cannot be ended."""

    def is_placed(self, model: str) -> bool | None:
        """Whether a remote model is ready where a placement has it; None where none speaks of such models."""

    async def start(self) -> None:
        """Be ready for requests; BadInput for settings that cannot be used."""

    async def stop(self) -> None:
        """Finish what was asked so far."""


class FleetTools(NamedTuple):
    """A process's part in a fleet that somebody schedules, which its clients of backends share."""

    placed: PlacedRates
    meter: SessionMeter


def engine_of(
    wanted: CompiledQuery,
    observer: Observer = UNOBSERVED,
    local: Backend | None = None,
    fleet: FleetTools | None = None,
) -> QueryEngine:
    """Runs a query's models, not yet started; BadInput where the secret of a backend or endpoint is not to be had.

    ``local``: the networks of this process, where other queries use them too; ``fleet``: its part in one.
    """
    local = local or backend(wanted.catalogue, observer)
    clients: dict[str, BackendClient | EndpointsClient] = {}
    if specs := _endpoints(wanted):
        clients[ENDPOINT] = _endpoints_client(wanted, specs, observer)
    if named := named_backends(wanted.query.nodes):
        need("grpc")
        clients |= _clients(wanted, named, fleet)
    if not clients:
        return local
    models = [model for node in wanted.query.nodes for model in node.models]
    return Router(local, clients, models, quick_s=QUICK * wanted.query.slo_ms / 1000, observer=observer)


def _endpoints_client(
    wanted: CompiledQuery, specs: Sequence[tuple[str, EndpointSpec]], observer: Observer
) -> EndpointsClient:
    need("aiohttp")
    from serving.budgets.day_budget import DayBudget
    from serving.budgets.ledger import FileLedger
    from serving.remote.endpoint.endpoints_client import EndpointsClient  # HTTP, which other queries do without

    ledger = FileLedger(ledger_path(wanted.query.name))
    opened = [(spec.opened(where), DayBudget(spec.budget_terms(), ledger, SYSTEM.now)) for where, spec in specs]
    return EndpointsClient(opened, observer.budget_stands)


def _endpoints(wanted: CompiledQuery) -> list[tuple[str, EndpointSpec]]:
    """Each once, with the place that names it."""
    found: dict[str, tuple[str, EndpointSpec]] = {}
    for node in wanted.dag.nodes:
        if isinstance(node.spec, RecogniseNode):
            for name, spec in node.spec.endpoints.items():
                found.setdefault(name, (f"node {node.name}: model", spec))
    return list(found.values())


def _clients(wanted: CompiledQuery, named: Iterable[str], fleet: FleetTools | None) -> Mapping[str, BackendClient]:
    """A client for each backend that a model is on; for ``auto`` all of them."""
    from serving.remote.client.backend_client import BackendClient, ClientTools

    query, tools = wanted.query, ClientTools(least_scores=_least_scores(wanted))
    if fleet is not None:
        tools = replace(tools, placed=fleet.placed, meter=fleet.meter)
    specs = {name: spec for name, spec in query.backends.items() if name in named or ANYWHERE in named}
    return {name: BackendClient(each, wanted.catalogue, tools) for name, each in addresses(specs).items()}


def _least_scores(wanted: CompiledQuery) -> Mapping[str, float]:
    """The lowest score that a node asks of a detector, by its name at a backend; left out where no node says one."""
    found: dict[str, float] = {}
    for node in wanted.query.nodes:
        if isinstance(node, DetectNode) and node.min_confidence is not None:
            for served in (placed(model)[0] for model in node.models):
                found[served] = min(found.get(served, 1.0), node.min_confidence)
    return found
