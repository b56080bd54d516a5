"""The kinds of nodes that a query may have with operators of the user's own, and the model of such a query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, create_model

from operators.extensions import OPERATORS, installed, kind
from pipelines.query.nodes import NODE_TYPES, OwnNode

Q = TypeVar("Q", bound=BaseModel)


def kinds_of(tasks: Collection[object], own: Mapping[str, type[Any]]) -> Mapping[str, type[Any]]:
    """The kinds of nodes for these tasks; installed operators are looked for where one is neither ours nor ``own``.

    Raises BadInput for a class of no use."""
    unknown = {task for task in tasks if isinstance(task, str)} - NODE_TYPES.keys() - own.keys()
    found = {**(installed(OPERATORS) if unknown else {}), **own}
    return {**{task: kind(OwnNode, "task", task, made) for task, made in found.items()}, **NODE_TYPES}


def query_model(model: type[Q], kinds: Mapping[str, type[Any]]) -> type[Q]:
    """The model of a query whose nodes are of these kinds."""
    if kinds.keys() == NODE_TYPES.keys():
        return model
    node: Any = reduce(or_, kinds.values())
    nodes: Any = tuple[Annotated[node, Field(discriminator="task")], ...], model.model_fields["nodes"]
    return create_model(model.__name__, __base__=model, nodes=nodes)
