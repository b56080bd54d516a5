"""The processes: backends, schedulers and one worker of three queries, and frames at a rate that can change."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from kafka import KafkaProducer

from operators.frames.codec import encode_frame
from operators.frames.frame import frame_of
from operators.wire.schema import FRAME_HEADER_KEY, FrameId, to_json
from tests.integration.backend_process import BackendProcess, backend_process
from tests.real.command import sluice
from tests.real.ports import free_port
from tests.real.process import Sluice

MODELS = {"types": "vehicle-type", "plates": "plates", "kinds": "street-kind"}
"""By query."""
PLATES = Path(__file__).parents[1] / "weg_parts" / "models"
STREAMS = 4
"""Those of each query."""
SLO_MS = 1500
MEMORY = "14MiB"
"""For the networks of a backend: there is room for the first or the second, and the third beside it."""
NAMES = ("a", "b", "c", "d")
QUERY = """\
version: 1
name: {name}
slo_ms: {slo_ms}
backends: {{pool: {{url: {urls}}}}}
streams: [{streams}]
nodes:
  - {{name: look, task: recognise, input: frame, model: {model} on pool, answer: look, specialize: false}}
"""


@dataclass
class Sender:
    """Sends frames of all streams, each so often a second, until it is stopped."""

    bootstrap: str
    topic: str
    fps: float
    sent: int = 0

    def run(self, stop: threading.Event) -> None:
        rng = np.random.default_rng(5)
        pictures = [rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(30, 0).repeat(40, 1) for _ in range(20)]
        streams = [f"{query}-{number}" for query in MODELS for number in range(STREAMS)]
        producer, began_s, seq = KafkaProducer(bootstrap_servers=self.bootstrap), time.monotonic(), 0
        while not stop.is_set():
            for place, stream in enumerate(streams):
                picture = pictures[(seq + place) % len(pictures)]
                frame = frame_of(FrameId(stream, "run", seq), picture, time.monotonic() - began_s, datetime.now(UTC))
                header, data = encode_frame(frame)
                producer.send(self.topic, data, stream.encode(), headers=[(FRAME_HEADER_KEY, to_json(header))])
                self.sent += 1
                stop.wait(1 / self.fps / len(streams))
            seq += 1
        producer.close()


class Installation:
    """All of it; a backend's place is fixed before it is started, for queries name them all."""

    def __init__(self, folder: Path, bootstrap: str, prefix: str, running: ExitStack) -> None:
        self._folder, self.bootstrap, self.prefix, self._running = folder, bootstrap, prefix, running
        self._ports = {name: free_port() for name in NAMES}
        self.backends: dict[str, BackendProcess] = {}
        made = sluice("topics", "create", "--prefix", prefix, "--broker", f"kafka://{bootstrap}")
        assert made.returncode == 0, made.stderr

    def scheduler(self, name: str, every_s: float) -> Sluice:
        return self._started(name, "schedule", "--every", every_s, "--listen", "127.0.0.1:0")

    def worker(self) -> Sluice:
        urls = json.dumps([f"grpc://127.0.0.1:{port}" for port in self._ports.values()])
        paths = []
        for query, model in MODELS.items():
            streams = ", ".join(f'{{id: {query}-{n}, uri: "rtsp://{query}/{n}"}}' for n in range(STREAMS))
            path = self._folder / f"{query}.yaml"
            path.write_text(QUERY.format(name=query, slo_ms=SLO_MS, urls=urls, streams=streams, model=model))
            paths.append(path)
        return self._started("worker", "worker", *paths, "--group", "all", "--models", PLATES)

    def backend(self, name: str) -> None:
        options = ("--broker", f"kafka://{self.bootstrap}", "--prefix", self.prefix, "--name", name, "--models", PLATES)
        at = f"127.0.0.1:{self._ports[name]}"
        process = backend_process(self._folder / name, *options, listen=at, SLUICE_MODEL_MEMORY=MEMORY)
        self.backends[name] = self._running.enter_context(process)

    def _started(self, name: str, *arguments: object) -> Sluice:
        command, *rest = arguments
        return self._running.enter_context(
            Sluice(self._folder / name, command, *rest, "--prefix", self.prefix, broker=self.bootstrap)
        )
