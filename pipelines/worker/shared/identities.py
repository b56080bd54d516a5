"""Which nodes of several queries are the same: they ask for the same of the same objects. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from pipelines.query.compiled import CompiledQuery
from pipelines.query.dag import DagNode, depends
from pipelines.query.filters import ZONE, leaves
from pipelines.query.models.remote_models import named_backends
from pipelines.query.nodes import DetectNode, NetworkNode, RecogniseNode, is_planned
from pipelines.query.query_file import Query
from serving.variants.variant import ANYWHERE


def identities(wanted: CompiledQuery) -> Mapping[str, str]:
    """By node, a digest of all that its answers depend on; none for a node that is its query's own.

    Those are the nodes that draw on a budget or ask an endpoint, and what takes from them.
    """
    found: dict[str, str] = {}
    by_name = {node.name: node for node in wanted.dag.nodes}
    before: list[DagNode] = []
    for node in wanted.dag.nodes:
        causes = [each.name for each in before if depends(node, each, by_name)]
        before.append(node)
        if _is_own(node, wanted.query) or not all(cause in found for cause in causes):
            continue
        said = [dict(_said(node, wanted.query)), sorted(found[cause] for cause in causes)]
        found[node.name] = sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
    return found


def _is_own(node: DagNode, query: Query) -> bool:
    spec = node.spec
    if isinstance(spec, RecogniseNode) and spec.endpoints:
        return True
    return (isinstance(spec, NetworkNode) and spec.budget is not None) or any(
        backend.budget is not None for backend in _backends(node, query).values()
    )


def _said(node: DagNode, query: Query) -> Iterator[tuple[str, Any]]:
    """The settings of a node, and those of its query that its answers depend on."""
    spec = node.spec
    yield "kind", f"{type(spec).__module__}.{type(spec).__qualname__}"
    yield "node", spec.model_dump(mode="json")
    yield "backends", {name: each.model_dump(mode="json") for name, each in _backends(node, query).items()}
    yield "masks", [each.model_dump(mode="json") for each in query.masks]
    if node.source is not None and any(leaf.field == ZONE for leaf in leaves(node.source.where)):
        yield "zones", [each.model_dump(mode="json") for each in query.zones]
    if isinstance(spec, RecogniseNode) or (
        isinstance(spec, DetectNode) and (spec.when == "needed" or is_planned(spec))
    ):
        yield "audits", [query.accuracy, query.learning.model_dump(mode="json"), query.takes_exits]
    if isinstance(spec, RecogniseNode):
        yield "pictures", sorted(query.pictures)


def _backends(node: DagNode, query: Query) -> Mapping[str, Any]:
    """Those that a model of the node may be on."""
    named = named_backends([node.spec])
    return {name: each for name, each in query.backends.items() if name in named or ANYWHERE in named}
