"""One worker of several queries with --adapt: each gets its exits from its own `sluice adapt`, over a real broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from operators.wire.schema import Result, from_json
from pipelines.assembly.parts import Setting
from pipelines.environment import catalogue
from pipelines.worker.common import Common
from pipelines.worker.following import Following
from pipelines.worker.open_queries import OpenQueries
from pipelines.worker.query_files import QueryFiles
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.photos import (
    Camera,
    every_photo_is_an_object,  # noqa: F401
    exits_pay_at_once,  # noqa: F401
    mosaics,
)
from tests.integration.test_adapted_exits import SPEC
from tests.integration.worker_parts import Wire, frame_message
from tests.real.command import sluice
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

MODELS = {"large": "vehicle-type", "small": "vehicle-type-compact"}
"""By query."""


@pytest.fixture
def paths(wire: Wire, topic_prefix: str, tmp_path: Path) -> list[Path]:
    """Two queries that learn, and the topics that `sluice topics create` makes."""
    folder = tmp_path / "site"
    folder.mkdir()
    detect, recognise = SPEC["nodes"]  # type: ignore[misc]
    for name, model in MODELS.items():
        nodes = [detect, recognise | {"model": model}]  # type: ignore[has-type]
        said = SPEC | {"name": name, "nodes": nodes, "publish": {"topics": {"prefix": topic_prefix}}}
        (folder / f"{name}.yaml").write_text(json.dumps(said))
    done = sluice("topics", "create", folder / "large.yaml", "--broker", f"kafka://{wire.broker.servers[0]}")
    assert done.returncode == 0, done.stderr
    return sorted(folder.iterdir())


@asynccontextmanager
async def working(wire: Wire, paths: list[Path]) -> AsyncIterator[None]:
    """A worker of all queries, in this process, that trains nothing."""
    stop = asyncio.Event()
    config = WorkerConfig(wire.broker, "site", wire.topics.frames, give_up_s=20)
    files = QueryFiles(paths, catalogue([]))
    async with Common(files.known, Setting()) as common:
        queries = OpenQueries(config, common, {}, adapted_at=wire.broker)
        await Following(files, queries).open()
        worker = asyncio.create_task(run_worker(config, queries.roster, stop=stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(worker, 120)


async def results(wire: Wire) -> list[Result]:
    return [from_json(each.value, Result) for each in await wire.all_of(wire.topics.results)]


async def answered_by_exits(wire: Wire) -> list[str]:
    """The queries, once exits answer in all of them."""
    found = {
        result.query
        for result in await results(wire)
        if any(each.attributes[0].provenance == "cached" for each in result.objects)
    }
    return sorted(found) if found == MODELS.keys() else []


@pytest.mark.usefixtures("every_photo_is_an_object", "exits_pay_at_once")
async def test_each_query_gets_its_exits_from_its_own_adaptation_worker(
    wire: Wire, paths: list[Path], data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    (bootstrap,) = wire.broker.servers
    camera = Camera(wire, mosaics(data_dir))
    async with working(wire, paths):
        with (
            Sluice(tmp_path / "adapt-large", "adapt", paths[0], broker=bootstrap) as large,
            Sluice(tmp_path / "adapt-small", "adapt", paths[1], broker=bootstrap) as small,
        ):
            assert await camera.shown_until(lambda: answered_by_exits(wire)) == ["large", "small"]
            for each in (large, small):
                assert await asyncio.to_thread(each.terminate) == 0, each.errors
                assert "is passed over" not in each.errors, "samples of one query are no concern of the other's"


def test_the_command_works_for_both_and_ends_well(wire: Wire, paths: list[Path], tmp_path: Path) -> None:
    (bootstrap,) = wire.broker.servers
    arguments = ("worker", *paths, "--adapt", "--group", "site")
    with Sluice(tmp_path / "worker", *arguments, broker=bootstrap) as worker:
        asyncio.run(wire.send(frame_message("gate", seq) for seq in range(5)))
        until(lambda: len(asyncio.run(results(wire))) >= 10, "results of both", worker)
        assert worker.terminate() == 0, worker.errors
    found = sorted((each.query, each.seq, each.outcome) for each in asyncio.run(results(wire)))
    assert found == [(name, seq, "analysed") for name in sorted(MODELS) for seq in range(5)]
