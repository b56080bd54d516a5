"""A query as Python programs build it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from operators.extensions import NONE
from pipelines.query.check import examine, open_query
from pipelines.query.dag import CompiledQuery
from pipelines.query.yaml_file import Document, read_yaml
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput


class Query:
    """A query of the keys of a query file (``docs/query.md``), checked as there.

    >>> query = Query(name="yard", slo_ms=250, nodes=[{"name": "find", "task": "detect", "model": "motion"}])
    >>> query
    Query(name='yard', nodes=['find'])
    >>> Query(name="yard", slo_ms=250, nodes=[{"name": "find", "task": "detekt", "model": "motion"}])
    Traceback (most recent call last):
    serving.errors.QueryError: Query: nodes[0].task: is 'detekt'; did you mean 'detect'? allowed: ...
    """

    def __init__(
        self, file: str | Path | None = None, /, *, operators: Mapping[str, type[Any]] = NONE, **keys: Any
    ) -> None:
        """``file``: where the keys stand that are not given; ``operators``: classes of your own by their ``task``.

        Raises QueryError with a line for each problem, and BadInput; models are looked up when the query runs."""
        if not isinstance(file, str | Path | None):
            raise BadInput(f"a query's file is a path, not a {type(file).__name__}; keys are given as Query(**keys)")
        document = Document(Path("Query"), {"version": 1}, None, ()) if file is None else read_yaml(Path(file))
        self._document = document.with_keys(json.loads(json.dumps(keys, default=_plain)))
        self._operators = own(operators)
        self._query = examine(self._document, own=operators).require()

    def __repr__(self) -> str:
        return f"Query(name={self._query.name!r}, nodes={[node.name for node in self._query.nodes]})"

    def _opened(self, known: Catalogue, sources: Sequence[str], operators: Mapping[str, type[Any]]) -> CompiledQuery:
        """The query with models of a catalogue, ready to run, on other sources where given."""
        return open_query(self._document, known, sources, {**self._operators, **operators})


def own(operators: Mapping[str, type[Any]]) -> Mapping[str, type[Any]]:
    """The same; raises BadInput for another type."""
    if not isinstance(operators, Mapping):
        raise BadInput(f"operators: is a {type(operators).__name__}; a dict of classes by the task they do")
    return operators


def _plain(value: object) -> object:
    """As a file would say it: a list for an array, a set or the like, words for a path."""
    if hasattr(value, "tolist"):  # NumPy's
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Iterable) else str(value)
