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

    @property
    def versions(self) -> dict[str, str]:
        """The versions of its models, by name."""
        models = {name for node in self.dag.nodes for name in node.models if name in self.catalogue.names()}
        return {name: self.catalogue.find(name).card.version for name in sorted(models)}


def compiled(query: Query, catalogue: Catalogue) -> CompiledQuery:
    """Order the nodes of a query; raises QueryError with a line per problem."""
    return CompiledQuery(query, compile_dag(query), catalogue)
