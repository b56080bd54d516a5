"""A query that can run: what its file says, the order of its nodes, and the models that they name."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.query.dag import Dag, compile_dag
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query and what is found out of it once, before anything runs."""

    query: Query
    dag: Dag
    """The query's nodes, in the order in which they run."""
    catalogue: Catalogue
    """Where its models are looked up."""


def compiled(query: Query, catalogue: Catalogue) -> CompiledQuery:
    """Order the nodes of a query; raises QueryError with a line per problem."""
    return CompiledQuery(query, compile_dag(query), catalogue)
