"""The engine: every network of a process behind ``await engine.infer(…)``, run by one thread.

Requests of all streams wait in one queue per model. Whenever the thread is free it takes the model whose most urgent
request is due first and runs as many of that model's requests as fit in one batch; nothing ever waits for a batch to
fill. One callback per batch brings the answers back to the event loop.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from serving.batching import next_batch
from serving.cards import ModelCard
from serving.catalogue import Catalogue, Entry
from serving.errors import SluiceError
from serving.network import Array, Network, open_onnx, run_in_steps

SWITCH_INTERVAL_S = 0.0002
"""How long a busy Python thread may keep the interpreter from one that returns from a network (default 0.005)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    batch: Array
    deadline: float
    answer: asyncio.Future[list[Array]]

    @property
    def items(self) -> int:
        return len(self.batch)


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What the engine has done since it was made."""

    batches: int = 0
    items: int = 0
    busy_s: float = 0.0
    """Time inside networks."""


class Engine:
    """Runs the catalogue's networks; one per process, used from one event loop."""

    def __init__(
        self,
        catalogue: Catalogue,
        threads: int | None = None,
        max_batch: int = 16,
        opener: Callable[[Entry, int], Network] = open_onnx,
    ) -> None:
        self._catalogue, self._opener = catalogue, opener
        self._threads = threads or _cores()
        self._max_batch = max_batch
        self._cards: dict[str, ModelCard] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._networks: dict[str, Network] = {}
        self._limits: dict[str, int] = {}
        self._queues: dict[str, list[_Request]] = {}
        self._stats = EngineStats()
        self._work = threading.Condition()
        self._open = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Start the engine's thread; shortens the interpreter's switch interval for the whole process."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._loop, self._open = asyncio.get_running_loop(), True
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Finish what was asked so far, then end the thread; later requests are refused."""
        with self._work:
            self._open = False
            self._work.notify()
        if self._thread:
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    def card(self, model: str) -> ModelCard:
        """The card of a model, without loading it; ModelError if there is none."""
        if model not in self._cards:
            self._cards[model] = self._catalogue.find(model).card
        return self._cards[model]

    async def load(self, model: str) -> None:
        """Verify and open a network (once); ModelError where that fails."""
        if model in self._networks:
            return
        if model not in self._opening:
            self._opening[model] = asyncio.create_task(self._open_network(model))
        try:
            await asyncio.shield(self._opening[model])
        finally:
            if model in self._opening and self._opening[model].done():
                del self._opening[model]

    async def infer(self, model: str, batch: Array, deadline: float) -> list[Array]:
        """Outputs for N × … inputs, in the card's order, first axis N; ``deadline`` (monotonic) only orders the work.

        Raises ModelError for a batch the network does not take, SluiceError where the network fails or has stopped.
        """
        await self.load(model)
        self._networks[model].check(batch)
        request = _Request(batch, deadline, asyncio.get_running_loop().create_future())
        with self._work:
            if not self._open:
                raise SluiceError("the engine has stopped")
            self._queues[model].append(request)
            self._work.notify()
        return await request.answer

    def stats(self) -> EngineStats:
        """A snapshot of the counters."""
        return self._stats

    async def _open_network(self, model: str) -> None:
        entry = self._catalogue.find(model)
        network = await asyncio.to_thread(self._opener, entry, self._threads)
        with self._work:
            self._cards[model], self._networks[model], self._queues[model] = entry.card, network, []
            self._limits[model] = min(self._max_batch, network.batch_limit or self._max_batch)

    def _serve(self) -> None:
        while (chosen := self._wait()) is not None:
            model, requests = chosen
            result = self._run(model, requests)
            assert self._loop is not None
            self._loop.call_soon_threadsafe(_answer, requests, result)

    def _wait(self) -> tuple[str, list[_Request]] | None:
        """Block until there is a batch to run; None when stopped and drained."""
        with self._work:
            while True:
                for model, queue in self._queues.items():
                    self._queues[model] = [request for request in queue if not request.answer.cancelled()]
                if chosen := next_batch(self._queues, self._limits):
                    model, requests = chosen
                    self._queues[model] = [request for request in self._queues[model] if request not in requests]
                    return chosen
                if not self._open:
                    return None
                self._work.wait()

    def _run(self, model: str, requests: list[_Request]) -> list[list[Array]] | Exception:
        """One list of outputs per request, or why the batch failed."""
        items = sum(request.items for request in requests)
        started = time.perf_counter()
        try:
            batch = requests[0].batch if len(requests) == 1 else np.concatenate([each.batch for each in requests])
            outputs = run_in_steps(self._networks[model], batch, self._limits[model])
            return _shared_out(outputs, requests)
        except Exception as error:  # whatever a network raises, the thread must serve the next batch
            failure = SluiceError(f"model {model!r} failed on a batch of {items}: {error}")
            failure.__cause__ = error
            return failure
        finally:
            self._count(items, time.perf_counter() - started)

    def _count(self, items: int, busy_s: float) -> None:
        was = self._stats
        self._stats = EngineStats(was.batches + 1, was.items + items, was.busy_s + busy_s)


def _cores() -> int:
    """Those this process may use, where the system can say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shared_out(outputs: list[Array], requests: list[_Request]) -> list[list[Array]]:
    """Each request's rows of every output."""
    ends = np.cumsum([request.items for request in requests])[:-1]
    return [list(parts) for parts in zip(*(np.split(output, ends) for output in outputs), strict=True)]


def _answer(requests: list[_Request], result: list[list[Array]] | Exception) -> None:
    """On the loop: resolve the requests of one batch; those cancelled meanwhile are passed over."""
    for index, request in enumerate(requests):
        if request.answer.done():
            continue
        if isinstance(result, Exception):
            request.answer.set_exception(result)
        else:
            request.answer.set_result(result[index])
