"""``sluice worker FOLDER`` as a process: it follows the folder, and queries share batches at a backend."""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from aiohttp import ClientSession

from operators.inference import prepared
from operators.wire.schema import Result, from_json
from pipelines.assembly.engine import engine_of
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from serving.scheduling.requests import Urgency
from tests.integration.backend_process import backend_process
from tests.integration.worker_parts import Wire, frame_message
from tests.real.command import sluice
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

TEXT = """\
version: 1
name: {name}
slo_ms: 60000
nodes:
  - {{name: detect, task: detect, model: motion}}
  - {{name: track, task: track, input: detect, lost_after_s: {lost}}}
"""


def test_a_worker_of_a_folder_follows_it_and_leaves_with_every_frame_answered(
    wire: Wire, topic_prefix: str, tmp_path: Path
) -> None:
    folder, at = tmp_path / "site", wire.broker.servers[0]
    folder.mkdir()
    (folder / "first.yaml").write_text(TEXT.format(name="first", lost=1))
    said = sluice("topics", "create", folder / "first.yaml", "--prefix", topic_prefix, "--broker", f"kafka://{at}")
    assert said.returncode == 0, said.stderr

    def answers(count: int) -> list[Result]:
        found: list[Result] = []

        def are_there() -> bool:
            found[:] = [from_json(each.value, Result) for each in asyncio.run(wire.all_of(wire.topics.results))]
            return len(found) >= count

        until(are_there, "results", worker)
        return found

    with Sluice(tmp_path / "worker", "worker", folder, "--prefix", topic_prefix, broker=at) as worker:
        asyncio.run(wire.send(frame_message("cam", seq) for seq in range(5)))
        answers(5)
        (folder / "second.yaml").write_text(TEXT.format(name="second", lost=2))
        os.kill(worker.process.pid, signal.SIGHUP)
        until(lambda: "query second runs as the file says now" in worker.errors, "the second query", worker)
        (folder / "first.yaml").write_text(TEXT.format(name="first", lost="'soon'"))
        os.kill(worker.process.pid, signal.SIGHUP)
        until(lambda: "refused, query first runs on as it was" in worker.errors, "the refusal", worker)
        asyncio.run(wire.send(frame_message("cam", seq) for seq in range(5, 10)))
        found = answers(15)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.wait() == 0
    assert sorted((each.query, each.seq) for each in found) == [
        *(("first", seq) for seq in range(10)),
        *(("second", seq) for seq in range(5, 10)),
    ]


async def batches(http: str, network: str) -> int:
    async with ClientSession() as session, session.get(f"http://{http}/metrics") as answer:
        found = re.findall(rf'sluice_network_batches_total{{.*model="{network}".*}} (\S+)', await answer.text())
    return round(sum(map(float, found)))


async def test_queries_with_one_model_at_a_backend_share_its_batches(tmp_path: Path) -> None:
    known = catalogue([])
    with backend_process(tmp_path, "--load", "street-kind", "--load", "vehicle-type") as backend:
        engines = []
        for name in ("first", "second"):
            nodes = [
                {"name": "kind", "task": "recognise", "input": "frame", "model": "street-kind on gpu"},
                {"name": "type", "task": "recognise", "input": "frame", "model": "vehicle-type on gpu"},
            ]
            said = {"version": 1, "name": name, "slo_ms": 60_000, "nodes": nodes}
            query = Query.model_validate(said | {"backends": {"gpu": {"url": f"grpc://{backend.grpc}"}}})
            engines.append(engine_of(compiled(query, known)))
        for engine in engines:
            await engine.start()
        try:
            first, _ = engines
            for engine in engines:
                await engine.load("street-kind on gpu")
                await engine.load("vehicle-type on gpu")
            pictures = [np.zeros((64, 64, 3), np.uint8)]
            long, _ = await prepared(first.card("vehicle-type on gpu").input, 16 * pictures)
            short, _ = await prepared(first.card("street-kind on gpu").input, pictures)
            urgency, shared = Urgency(math.inf), False
            for _ in range(30):  # on a machine that stands still they may come one after the other
                before = await batches(backend.http, "street-kind")
                busy = asyncio.create_task(first.infer("vehicle-type on gpu", long, urgency))
                await asyncio.sleep(0.02)
                asked = [engine.infer("street-kind on gpu", short, urgency) for engine in engines for _ in range(4)]
                await asyncio.gather(busy, *asked)
                if shared := await batches(backend.http, "street-kind") - before < len(asked) / 2:
                    break
            assert shared
        finally:
            for engine in engines:
                await engine.stop()
