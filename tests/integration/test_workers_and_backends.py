"""Two workers share two backends on a real broker, one of which is killed: each frame has one outcome, and the answer
of the network here.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from aiohttp import ClientSession
from aiokafka import AIOKafkaConsumer

from operators.frames.codec import decode_frame, encode_frame
from operators.frames.frame import frame_of
from operators.inference import prepared
from operators.recognise.classifier import probabilities
from operators.wire.schema import FRAME_HEADER_KEY, FrameId, Result, from_json, to_json
from pipelines.kafka.options import client_options
from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array, Image
from serving.scheduling.requests import Urgency
from tests.integration.backend_process import BackendProcess, backend_process
from tests.integration.worker_parts import Sent, Wire
from tests.real.command import sluice
from tests.real.process import Sluice

pytestmark = pytest.mark.kafka

FRAMES, STREAMS, PICTURES = 10_000, 20, 50
NETWORK = "street-kind"
QUERY = """\
version: 1
name: shared
slo_ms: 600000
backends:
  gpu: {{url: [{urls}]}}
nodes:
  - {{name: kind, task: recognise, input: frame, model: {model} on gpu, answer: look, specialize: false}}
"""


def pictures() -> list[Image]:
    """Different ones, each a few large areas."""
    rng = np.random.default_rng(3)
    return [rng.integers(0, 256, (3, 4, 3), np.uint8).repeat(16, 0).repeat(16, 1) for _ in range(PICTURES)]


def messages(images: Sequence[Image]) -> list[tuple[Sent, Image]]:
    """The frames of all streams, and the pictures as workers decode them."""
    sent = []
    for number in range(FRAMES):
        stream, seq = f"camera-{number % STREAMS}", number // STREAMS
        frame = frame_of(FrameId(stream, "run", seq), images[(number * 7) % PICTURES], seq / 25, datetime.now(UTC))
        header, data = encode_frame(frame)
        sent.append(
            (Sent(stream.encode(), data, ((FRAME_HEADER_KEY, to_json(header)),)), decode_frame(header, data).image)
        )
    return sent


async def named(images: Sequence[Image]) -> list[tuple[str, float]]:
    """The class that the network names here, and its share."""
    engine = Backend(Catalogue([SHIPPED]))
    await engine.start()
    try:
        card = engine.card(NETWORK)
        batch, _ = await prepared(card.input, images)
        shares = probabilities(card, (await engine.infer(NETWORK, batch, Urgency(math.inf)))[0])
    finally:
        await engine.stop()
    labels = [card.classes[best] if share >= card.min_confidence else "unknown" for best, share in tops(shares)]
    return [(label, round(share, 4)) for label, (_, share) in zip(labels, tops(shares), strict=True)]


def tops(shares: Array) -> list[tuple[int, float]]:
    """The most probable class of each row, and its share."""
    return [(int(row.argmax()), float(row.max())) for row in shares]


async def results(wire: Wire, workers: Sequence[Sluice], backends: Sequence[BackendProcess]) -> list[Result]:
    """All results, once there are as many as frames; the first backend is killed when a third is there."""
    consumer = AIOKafkaConsumer(wire.topics.results, **client_options(wire.broker), auto_offset_reset="earliest")
    await consumer.start()
    found: list[Result] = []
    try:
        async with asyncio.timeout(400):
            while len(found) < FRAMES:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    found += [from_json(record.value, Result) for record in records]
                assert [each.process.poll() for each in workers] == [None] * len(workers)
                if len(found) > FRAMES / 3 and backends[0].command.process.poll() is None:
                    assert min([await answered_by(each) for each in backends]) > FRAMES / 20
                    backends[0].command.kill()
            await asyncio.sleep(1)
            for records in (await consumer.getmany(timeout_ms=500)).values():
                found += [from_json(record.value, Result) for record in records]
    finally:
        await consumer.stop()
    return found


async def answered_by(backend: BackendProcess) -> float:
    """Number of requests that a backend has answered."""
    async with ClientSession() as http, http.get(f"http://{backend.http}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    (line,) = (
        line for line in lines if line.startswith("sluice_backend_requests_total") and 'outcome="answered"' in line
    )
    return float(line.split()[-1])


async def test_ten_thousand_frames_through_two_workers_and_two_backends(
    wire: Wire, topic_prefix: str, tmp_path: Path
) -> None:
    sent = messages(pictures())
    with ExitStack() as stack:
        backends = [stack.enter_context(backend_process(tmp_path / name, "--load", NETWORK)) for name in ("a", "b")]
        query = tmp_path / "query.yaml"
        urls = ", ".join(f'"grpc://{each.grpc}"' for each in backends)
        query.write_text(QUERY.format(urls=urls, model=NETWORK))
        at = wire.broker.servers[0]
        said = sluice("topics", "create", query, "--prefix", topic_prefix, "--broker", f"kafka://{at}")
        assert said.returncode == 0, said.stderr
        await wire.send(message for message, _ in sent)
        options = ("worker", query, "--prefix", topic_prefix)
        workers = [stack.enter_context(Sluice(tmp_path / name, *options, broker=at)) for name in ("c", "d")]
        found = await results(wire, workers, backends)
    answers = Counter((each.stream, each.seq) for each in found)
    assert answers == {(f"camera-{number % STREAMS}", number // STREAMS): 1 for number in range(FRAMES)}
    assert Counter(each.outcome for each in found) == {"analysed": FRAMES}
    assert backends[0].command.process.poll() is not None
    wanted = dict(zip(answers_in_order(), await named([image for _, image in sent]), strict=True))
    told = {(each.stream, each.seq): each.objects[0].attributes[0] for each in found}
    assert {place: (said.label, said.confidence) for place, said in told.items()} == wanted


def answers_in_order() -> list[tuple[str, int]]:
    return [(f"camera-{number % STREAMS}", number // STREAMS) for number in range(FRAMES)]
