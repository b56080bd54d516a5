"""Queries of one worker that have little in common."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from click.testing import CliRunner

from pipelines.assembly.parts import Setting
from pipelines.cli import sluice
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.needs import Needs
from pipelines.query.nodes import RecogniseNode
from pipelines.settings import BrokerSettings
from pipelines.worker.common import Common
from pipelines.worker.open_queries import OpenQueries, _Held
from pipelines.worker.worker import WorkerConfig
from serving.errors import Unavailable
from tests.pipelines.queries import DETECT, query, write

STILL = "version: 1\nname: still\nslo_ms: 500\nnodes: [{name: detect, task: detect, model: motion}]\n"
LEARNS = (
    "version: 1\nname: learns\nslo_ms: 500\nnodes: [{name: a, task: recognise, input: frame, model: street-kind}]\n"
)
NOWHERE = BrokerSettings(("127.0.0.1:1",))


async def test_a_query_that_has_nothing_to_learn_runs_beside_those_that_learn_elsewhere() -> None:
    known, config = catalogue([]), WorkerConfig(NOWHERE, "site", "sluice.frames.v1")
    async with Common(known, Setting()) as common:
        queries = OpenQueries(config, common, {}, adapted_at=NOWHERE)
        await queries.take(Path("a.yaml"), compiled(query(DETECT), known))
        assert list(queries.files) == [Path("a.yaml")]
        await queries.withdraw("test")


async def test_a_fleet_is_told_the_alternatives_of_the_queries_as_they_are_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of those that they were before, nor of those that are withdrawn."""

    def asks(name: str, *models: str, free: bool = True) -> Any:
        said = {"name": "n", "task": "recognise", "input": "d", "model": "auto" if free else list(models)}
        node = RecogniseNode.model_validate(said)
        node = node.listing(Needs(task="cars", backend="pool"), models) if free else node
        return SimpleNamespace(query=SimpleNamespace(name=name, nodes=[node]))

    async def opened(self: OpenQueries, path: Path, wanted: Any, before: object) -> Any:
        duties: Any = SimpleNamespace(query=wanted.query.name)
        return _Held(path, SimpleNamespace(wanted=wanted), duties)  # type: ignore[arg-type]

    monkeypatch.setattr(OpenQueries, "_opened", opened)
    told: dict[str, list[str]] = {}
    queries = OpenQueries(WorkerConfig(NOWHERE, "site", "sluice.frames.v1"), AsyncMock(), told)
    await queries.take(Path("a.yaml"), asks("a", "cars on pool", free=False))
    assert told == {"cars": []}
    await queries.take(Path("a.yaml"), asks("a", "cars on pool", "small on pool"))
    assert told == {"cars": ["small"], "small": ["cars"]}
    await queries.take(Path("b.yaml"), asks("b", "cars on pool", free=False))
    assert told == {"cars": [], "small": ["cars"]}
    await queries.withdraw("b")
    assert told == {"cars": ["small"], "small": ["cars"]}


class Life:
    """Takes a first query, and fails with the next one before or after its frames go to it."""

    def __init__(self, late: bool) -> None:
        self.duties: dict[str, Any] = {}
        self._late = late

    async def put(self, duties: Any) -> None:
        fails = bool(self.duties)
        if not fails or self._late:
            self.duties[duties.query] = duties
        if fails:
            raise Unavailable("the broker is gone")

    async def withdraw(self, name: str) -> None:
        del self.duties[name]


@pytest.mark.parametrize("late", [False, True])
async def test_of_a_change_that_fails_one_query_is_left_open(late: bool) -> None:
    """The one that frames go to: the former, or the new one where they have come to it."""
    known, config = catalogue([]), WorkerConfig(NOWHERE, "site", "sluice.frames.v1")
    async with Common(known, Setting()) as common:
        queries = OpenQueries(config, common, {})
        queries.roster._life = Life(late)  # type: ignore[assignment]
        await queries.take(Path("a.yaml"), compiled(query(DETECT), known))
        (before,) = queries.roster.duties
        with pytest.raises(Unavailable):
            await queries.take(Path("a.yaml"), compiled(query(DETECT), known))
        (after,) = queries.roster.duties
        assert (after is before) is not late
        assert [each.parts.executor for each in common._open] == [after.analyser]
        assert list(queries.files) == [Path("a.yaml")]
        assert queries._held["test"].duties is after


async def test_a_query_that_gets_another_name_and_fails_late_runs_once() -> None:
    known, config = catalogue([]), WorkerConfig(NOWHERE, "site", "sluice.frames.v1")
    async with Common(known, Setting()) as common:
        queries = OpenQueries(config, common, {})
        life = queries.roster._life = Life(late=True)  # type: ignore[assignment]
        await queries.take(Path("a.yaml"), compiled(query(DETECT), known))
        with pytest.raises(Unavailable):
            await queries.take(Path("a.yaml"), compiled(query(DETECT, name="renamed"), known))
        for name in queries.renamed:
            await queries.withdraw(name)
        assert [*life.duties] == [each.query for each in queries.roster.duties] == ["renamed"]
        assert queries.files == {Path("a.yaml"): "renamed"}
        assert len(common._open) == 1


@pytest.mark.parametrize(
    ("texts", "said"), [((STILL,), "nothing of this query learns"), ((STILL, LEARNS), "no broker")]
)
def test_adapt_is_refused_where_no_query_has_something_to_learn(
    texts: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    for number, text in enumerate(texts):
        write(tmp_path / f"{number}.yaml", text)
    words = ["worker", str(tmp_path), "--adapt", "--broker", "kafka://127.0.0.1:1", "--broker-timeout", "0"]
    assert said in str(CliRunner().invoke(sluice, words).exception)
