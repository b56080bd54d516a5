"""A network of the catalogue behind an endpoint of chat completions, each answer of which takes as long as told:

    python -m tests.real.vision_reference vehicle-type --delay-ms 300

It prints the lines of a query that ask it.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from operators.inference import prepared
from operators.recognise.classifier import probabilities
from pipelines.environment import backend, catalogue
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Image
from serving.remote.endpoint.terms import UNKNOWN
from serving.scheduling.requests import Urgency
from tests.real.vision import Asked, Said, Vision, vision


@contextmanager
def reference(model: str, delay_s: float = 0.0) -> Iterator[tuple[Vision, ModelCard]]:
    """Answer by a network's words until the block ends, ``delay_s`` after each question, many at once."""
    engine, loop = backend(catalogue([])), asyncio.new_event_loop()
    card = engine.card(model)

    async def named(picture: Image) -> tuple[str, float]:
        batch, _ = await prepared(card.input, [picture])
        (row,) = probabilities(card, (await engine.infer(model, batch, Urgency(math.inf)))[0])
        best = int(row.argmax())
        word = card.classes[best]
        return UNKNOWN if word == card.other_label else word, float(row[best])

    def answer(asked: Asked) -> Said:
        due_s = time.monotonic() + delay_s
        word, share = asyncio.run_coroutine_threadsafe(named(asked.picture), loop).result()
        time.sleep(max(0.0, due_s - time.monotonic()))
        token = {"token": word, "logprob": math.log(max(share, 1e-6)), "top_logprobs": []}
        return Said(word, logprobs=[token])

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def done(work: Callable[[], object]) -> None:
        asyncio.run_coroutine_threadsafe(work(), loop).result()  # type: ignore[arg-type]

    done(engine.start)
    try:
        with vision(answer) as server:
            yield server, card
    finally:
        done(engine.stop)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def lines(server: Vision, card: ModelCard) -> str:
    """The lines of a query that ask it."""
    labels = ", ".join(word for word in card.classes if word != card.other_label)
    return (
        f"model:\n  - endpoint: {server.url}\n    name: tiny-vl\n    labels: [{labels}]\n"
        "    budget: {per_day: 100000 calls}\n"
    )


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("model")
    options.add_argument("--delay-ms", type=float, default=300.0)
    given = options.parse_args()
    with reference(given.model, given.delay_ms / 1000) as (server, card):
        print(lines(server, card), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
