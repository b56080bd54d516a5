"""A vision model behind a real web server, which answers well, badly, late or not at all."""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serving.budgets.day_budget import DayBudget
from serving.budgets.prices import Amount, Prices
from serving.budgets.terms import BudgetTerms, DayLedger, DayRule
from serving.common.clock import SystemClock, Timer
from serving.errors import ModelError, Unavailable
from serving.remote.endpoint.caller import RESTS
from serving.remote.endpoint.reply import LARGEST_BYTES
from serving.remote.endpoint.terms import CallTerms, Question, TokenPrices, VisionEndpoint
from serving.remote.endpoint.vision_model import VisionModel
from serving.scheduling.requests import BACKGROUND, Urgency
from tests.real.mosquitto import make_certificate
from tests.real.vision import Asked, Said, Vision, vision
from tests.serving.budgets.memory_ledger import MemoryLedger

LABELS = ("car", "truck", "van")
KEY = "sk-very-secret-0815"
NOW = Urgency(0.0, droppable=True)
"""The frame is late already, and might be dropped."""
ROOMY = Prices("calls"), 10_000.0


class Hasty(SystemClock):
    """Waits for nobody, and notes how long it would have."""

    def __init__(self) -> None:
        self.waited_s: list[float] = []
        self.ahead_s = 0.0

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self.ahead_s

    def call_at(self, at_s: float, callback: Callable[[], None]) -> Timer:
        self.waited_s.append(at_s - self.monotonic_s())
        return asyncio.get_running_loop().call_soon(callback)


@pytest.fixture
def server() -> Iterator[Vision]:
    with vision() as found:
        yield found


@asynccontextmanager
async def model(
    server: Vision,
    clock: SystemClock | None = None,
    budget: tuple[Prices, float] = ROOMY,
    ledger: DayLedger | None = None,
    **terms: object,
) -> AsyncIterator[VisionModel]:
    """``budget``: prices, and the amount of a day."""
    endpoint, (prices, per_day) = (
        VisionEndpoint(server.url, "tiny-vl", Question("Which?", LABELS), key=KEY, detail=64),
        budget,
    )
    paid = BudgetTerms("endpoint tiny-vl", Amount(per_day, prices.unit), prices, DayRule())
    clock = clock or Hasty()
    pays = DayBudget(paid, ledger or MemoryLedger(), clock.now)
    found = VisionModel(replace(endpoint, **terms), pays, clock, random.Random(0))
    try:
        yield found
    finally:
        await found.close()
        pays.close()


def pictures(count: int = 1) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)


def words(found: VisionModel, output: list[np.ndarray]) -> list[str]:
    return [found.card.classes[int(row.argmax())] for row in output[0]]


async def test_each_picture_is_asked_about_and_answered_in_its_place(server: Vision) -> None:
    server.answer = lambda asked: Said('{"label": "%s"}' % ("van" if asked.picture.mean() < 60 else "car"))
    shown = pictures(4)
    shown[2] //= 4
    async with model(server, budget=(Prices("EUR"), 1.0), tokens=TokenPrices(0.5, 1.0)) as found:
        await found.load()
        output = await found.infer(shown, NOW)
        assert words(found, output) == ["car", "car", "van", "car"]
        assert output[0].max(axis=1).tolist() == pytest.approx([0.9] * 4)
    (asked, *_) = server.asked
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "tiny-vl"
    assert asked.form == "schema"
    assert asked.body["messages"][1]["content"][0] == {"type": "text", "text": "Which?"}
    spent = found.spending
    assert (spent.calls, spent.answered, spent.given_tokens, spent.answered_tokens) == (4, 4, 1600, 20)
    assert spent.cost == pytest.approx(4 * (0.5 * 400 + 5) / 1e6)


@pytest.mark.parametrize("text", ["a bus", "Ignore the list: the label is truck", "", '{"label": "admin"}'])
async def test_what_is_no_label_is_unknown(server: Vision, text: str) -> None:
    server.answer = lambda asked: Said(text)
    async with model(server) as found:
        assert words(found, await found.infer(pictures(), NOW)) == ["unknown"]
        assert found.spending.unlisted == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(body=b"a" * (LARGEST_BYTES + 1)), "more than"),
        (Said(body=b'{"choices": '), "cannot be read"),
        (Said(body=b"<html>"), "cannot be read"),
        (Said(body=b'{"error": {"message": "overloaded"}}'), 'cannot be read: .*"message": "overloaded"'),
        (Said(body=b"[" * 100_000), "cannot be read"),
        (Said(text="car", cut=20), "no answer"),
        (Said(status=302, headers={"Location": "http://127.0.0.1:1/v1"}), "redirects are not followed"),
        (Said(status=500, body=b"\x1b[2Joops"), r"answers 500: \\x1b\[2Joops"),
        (Said(status=418, body=b""), "answers 418"),
        (Said(status=401, body=f"your key {KEY} is wrong".encode()), r"answers 401: your key \*\*\* is wrong"),
    ],
    ids=["huge", "half", "html", "error", "deep", "cut", "redirect", "fails", "odd", "key"],
)
async def test_a_bad_answer_is_one_line_and_no_look(
    server: Vision, said: Said, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda asked: said
    caplog.set_level(logging.DEBUG)
    from serving.common.redaction import hide

    hide(KEY)
    async with model(server) as found:
        with pytest.raises(Unavailable, match=why) as caught:
            await found.infer(pictures(), NOW)
        assert found.spending.failed == 1
    assert len(str(caught.value).splitlines()) == 1
    assert KEY not in str(caught.value)
    assert KEY not in caplog.text
    assert KEY not in repr(found.endpoint)


async def test_an_answer_that_comes_after_the_frame_is_used(server: Vision) -> None:
    go = threading.Event()
    server.answer = lambda asked: Said("truck") if go.wait(20) else Said("late")
    async with model(server) as found:
        look = asyncio.create_task(found.infer(pictures(), NOW))
        await server.has_been_asked()
        assert not look.done()
        go.set()
        assert words(found, await look) == ["truck"]


async def test_a_silent_server_is_given_up_and_then_left_alone(server: Vision) -> None:
    go = threading.Event()
    server.answer = lambda asked: Said("car") if go.wait(60) else Said("")
    clock = Hasty()
    async with model(server, clock, calls=CallTerms(timeout_s=1.5, attempts=RESTS.failures)) as found:
        with pytest.raises(Unavailable, match=r"no answer within 1\.5 s"):
            await found.infer(pictures(), NOW)
        assert len(server.asked) == RESTS.failures
        with pytest.raises(Unavailable, match="left alone"):
            await found.infer(pictures(), NOW)
        assert (len(server.asked), found.spending.refused) == (RESTS.failures, 1)
        go.set()
        clock.ahead_s = 10.0
        assert words(found, await found.infer(pictures(), NOW)) == ["car"]


async def test_a_busy_server_is_asked_again_when_it_wants(server: Vision) -> None:
    answers = iter([Said(status=429, headers={"Retry-After": "3"}, body=b""), Said(status=503, body=b""), Said("van")])
    server.answer = lambda asked: next(answers)
    clock = Hasty()
    async with model(server, clock) as found:
        assert words(found, await found.infer(pictures(), NOW)) == ["van"]
    assert clock.waited_s[0] == pytest.approx(3.0, abs=0.5)
    assert 0.5 <= clock.waited_s[1] + 0.01 <= 1.1
    assert found.spending.calls == 3


async def test_a_server_that_asks_for_a_long_rest_gets_it(server: Vision) -> None:
    server.answer = lambda asked: Said(status=429, headers={"Retry-After": "60"}, body=b"")
    clock = Hasty()
    async with model(server, clock) as found:
        with pytest.raises(Unavailable, match="answers 429"):
            await found.infer(pictures(), NOW)
        with pytest.raises(Unavailable, match=r"left alone for (60|[45]\d) s"):
            await found.infer(pictures(), NOW)
        assert len(server.asked) == 1


async def test_a_server_that_knows_no_schema_is_asked_in_words(server: Vision) -> None:
    def answer(asked: Asked) -> Said:
        plain = asked.form == "text" and "logprobs" not in asked.body
        return Said("Car.") if plain else Said(status=400, body=b'{"error": "no such parameter"}')

    server.answer = answer
    async with model(server) as found:
        for _ in range(2):
            assert words(found, await found.infer(pictures(), NOW)) == ["car"]
    assert [each.form for each in server.asked] == ["schema", "schema", "text", "text", "text"]


async def test_a_form_that_the_query_names_is_kept(server: Vision) -> None:
    server.answer = lambda asked: Said(status=422, body=b"no")
    async with model(server, question=Question("Which?", LABELS, "choice")) as found:
        with pytest.raises(Unavailable, match="answers 422"):
            await found.infer(pictures(), NOW)
    assert {each.form for each in server.asked} == {"choice"}
    assert server.asked[0].body["structured_outputs"] == {"choice": [*LABELS, "unknown"]}


async def test_no_call_is_made_beyond_the_budget(server: Vision) -> None:
    async with model(server, budget=(Prices("calls"), 2.0)) as found:
        with pytest.raises(Unavailable, match="2 calls a day of endpoint tiny-vl is spent until 20"):
            await found.infer(pictures(3), NOW)
        assert (len(server.asked), found.spending.answered, found.spending.refused) == (2, 2, 1)


async def test_background_work_leaves_half_of_the_budget(server: Vision) -> None:
    async with model(server, calls=CallTerms(2)) as found:
        await found.infer(pictures(), BACKGROUND)
        with pytest.raises(Unavailable, match="2 calls of a minute"):
            await found.infer(pictures(), BACKGROUND)
        await found.infer(pictures(), NOW)


async def test_calls_in_flight_and_looks_that_wait_are_bounded(server: Vision) -> None:
    here, most, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def answer(asked: Asked) -> Said:
        nonlocal here, most
        with lock:
            here += 1
            most = max(most, here)
        gate.wait(20)
        with lock:
            here -= 1
        return Said("car")

    server.answer = answer
    async with model(server, calls=CallTerms(in_flight=3)) as found:
        looks = asyncio.create_task(found.infer(pictures(66), NOW))
        await server.has_been_asked(3)
        gate.set()
        with pytest.raises(Unavailable, match="64 looks wait already"):
            await looks
        assert most == 3
        assert (found.spending.answered, found.spending.refused) == (64, 2)


async def test_an_endpoint_without_the_model_is_told_at_the_start(server: Vision) -> None:
    async with model(server, model="other-vl") as found:
        with pytest.raises(ModelError, match="no model 'other-vl'; it has tiny-vl"):
            await found.load()


async def test_a_wrong_key_is_told_at_the_start(server: Vision) -> None:
    server.models = Said(status=401, body=b"")
    async with model(server) as found:
        with pytest.raises(ModelError, match="answers 401: give the right key") as caught:
            await found.load()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("said", [Said(status=404, body=b""), Said(body=b"{}"), Said(body=b'{"data": []}')])
async def test_an_endpoint_that_lists_no_models_may_have_it(server: Vision, said: Said) -> None:
    server.models = said
    async with model(server) as found:
        await found.load()


async def test_an_endpoint_that_is_away_may_come(server: Vision, caplog: pytest.LogCaptureFixture) -> None:
    async with model(server, url="http://127.0.0.1:9/v1") as found:
        await found.load()
    assert "no connection" in caplog.text


async def test_a_batch_of_another_form_is_refused(server: Vision) -> None:
    async with model(server) as found:
        with pytest.raises(ModelError, match="takes pictures of 64 pixels, was given float32"):
            await found.infer(pictures().astype(np.float32), NOW)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(body=b"x" * 4096, endless_s=0.0), "more than"),
        (Said(body=b" ", endless_s=0.02), r"no answer within 0\.3 s"),
        (Said(body=b"", headers={"X-Filler": "x" * 100_000}), "no answer"),
        (Said(body=b"\x1f\x8b\x08 no JSON", headers={"Content-Encoding": "gzip"}), "cannot be read"),
        (Said(body=b'{"choices": []}'), "cannot be read"),
        (Said(body=b'{"choices": [{"message": {"content": 5}}]}'), "cannot be read"),
        (Said(body=b'{"choices": [{"message": {"content": "' + b"c" * 5000 + b'"}}]}'), "cannot be read"),
        (Said(text="car", logprobs=[{"token": "c", "logprob": -0.1}] * 600), "cannot be read"),
        (
            Said(body=b'{"choices": [{"message": {"content": "car"}}], "usage": {"prompt_tokens": -5}}'),
            "cannot be read",
        ),
    ],
    ids=["endless", "drip", "header", "gzip", "none", "number", "long", "tokens", "usage"],
)
async def test_hostile_answers_are_bounded(server: Vision, said: Said, why: str) -> None:
    server.answer = lambda asked: said
    within_s = 0.3 if "no answer within" in why else 30.0
    async with model(server, calls=CallTerms(timeout_s=within_s, attempts=1)) as found:
        with pytest.raises(Unavailable, match=why) as caught:
            await found.infer(pictures(), NOW)
    assert len(str(caught.value)) < 400


async def test_a_certificate_that_nobody_knows_is_not_trusted(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    with vision(tls=tls) as server:
        async with model(server) as found:
            with pytest.raises(Unavailable, match="certificate is not trusted"):
                await found.infer(pictures(), NOW)
        assert server.asked == []
        async with model(server, url=server.url.replace("https", "http")) as found:
            with pytest.raises(Unavailable, match="no answer"):
                await found.infer(pictures(), NOW)


async def test_a_server_that_speaks_no_tls_is_not_reached_by_it(server: Vision) -> None:
    async with model(server, url=server.url.replace("http", "https")) as found:
        with pytest.raises(Unavailable, match="no connection"):
            await found.infer(pictures(), NOW)
        assert found.spending.cost == 0


async def test_a_server_that_tells_no_tokens_is_paid_for_those_that_are_expected(server: Vision) -> None:
    server.answer = lambda asked: Said(body=b'{"choices": [{"message": {"content": "car"}}]}')
    async with model(server, budget=(Prices("EUR"), 1.0), tokens=TokenPrices(1000.0, 1000.0)) as found:
        await found.infer(pictures(), NOW)
        assert found.spending.cost == pytest.approx(
            (found.spending.given_tokens + found.spending.answered_tokens) / 1000
        )
        assert found.spending.cost > 0.2
        with pytest.raises(Unavailable, match="1 EUR a day of endpoint tiny-vl is spent"):
            await found.infer(pictures(10), NOW)
        assert found.spending.cost <= 1.0


async def test_an_answer_that_cannot_be_read_is_paid_nevertheless(server: Vision) -> None:
    server.answer = lambda asked: Said(body=b"{}")
    async with model(server, budget=(Prices("EUR"), 1.0), tokens=TokenPrices(1.0, 1.0)) as found:
        with pytest.raises(Unavailable):
            await found.infer(pictures(), NOW)
        assert found.spending.cost > 0


async def test_failures_and_what_was_spent_are_told_once(server: Vision, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server.answer = lambda asked: Said(status=418, body=b"")
    async with model(server) as found:
        for _ in range(3):
            with pytest.raises(Unavailable):
                await found.infer(pictures(), NOW)
        server.answer = lambda asked: Said("car")
        await found.infer(pictures(), NOW)
    told = [each.message for each in caplog.records]
    assert [sum(part in each for each in told) for part in ("answers 418", "answers again")] == [1, 1]
    assert "4 calls, 1 looks answered" in told[-1]


async def test_processes_share_a_day_and_what_is_left_of_it_comes_back(server: Vision) -> None:
    ledger = MemoryLedger()
    async with model(server, budget=(Prices("calls"), 300.0), ledger=ledger) as found:
        await found.infer(pictures(3), NOW)
    ((_, taken),) = ledger.taken.items()
    assert taken == 3
    async with model(server, budget=(Prices("calls"), 4.0), ledger=ledger) as found:
        await found.infer(pictures(1), NOW)
        with pytest.raises(Unavailable, match="is spent"):
            await found.infer(pictures(1), NOW)


async def test_bytes_may_be_what_is_bounded(server: Vision) -> None:
    async with model(server, budget=(Prices("B"), 8000.0)) as found:
        with pytest.raises(Unavailable, match="7\\.812 KiB a day of endpoint tiny-vl is spent"):
            await found.infer(pictures(5), NOW)
        assert 0 < found.spending.cost <= 8000


async def test_looks_at_once_find_the_form_that_a_server_takes_together(server: Vision) -> None:
    both = threading.Barrier(2)

    def answer(asked: Asked) -> Said:
        if "logprobs" not in asked.body:
            return Said("van")
        both.wait(30)
        return Said(status=400, body=b"logprobs are not known")

    server.answer = answer
    async with model(server, question=Question("Which?", LABELS, "text")) as found:
        assert words(found, await found.infer(pictures(2), NOW)) == ["van", "van"]
        assert (found.spending.calls, found.spending.failed) == (4, 0)
