"""An analyser that learns something of every stream: how many of its frames there were, whoever analysed them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, Result
from pipelines.partition.duties import StateConfig
from tests.integration.worker_parts import CountingAnalyser


@dataclass
class Notebook(CountingAnalyser):
    """The operator of a node and the analyser at once."""

    frames: dict[str, int] = field(default_factory=dict)
    at_first: dict[str, int] = field(default_factory=dict)
    """What was known of a stream when its first frame came here."""

    def state(self, topic: str) -> StateConfig:
        return StateConfig(topic, {"count": self}, asyncio.Event())

    def snapshot(self, stream: str) -> bytes | None:
        return json.dumps({"frames": self.frames[stream]}).encode() if stream in self.frames else None

    def restore(self, stream: str, data: bytes) -> None:
        self.frames[stream] = json.loads(data)["frames"]

    async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
        self.at_first.setdefault(header.stream, self.frames.get(header.stream, 0))
        self.frames[header.stream] = self.frames.get(header.stream, 0) + 1
        return await super().submit(header, load)

    def forget(self, stream: str) -> None:
        super().forget(stream)
        self.frames.pop(stream, None)
        self.at_first.pop(stream, None)


async def until(happened: Callable[[], bool], timeout_s: float = 180) -> None:
    """Wait for it."""
    async with asyncio.timeout(timeout_s):
        while not happened():  # noqa: ASYNC110 - what happens is no event
            await asyncio.sleep(0.05)


def streams(count: int = 8) -> list[str]:
    return [f"camera-{number}" for number in range(count)]


def of(notebook: Notebook, names: Iterable[str]) -> list[int]:
    return [notebook.at_first.get(name, -1) for name in names]
