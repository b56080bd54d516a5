"""Publishing: order, patience, and what cannot be helped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest
from aiokafka.errors import KafkaTimeoutError, MessageSizeTooLargeError, TopicAuthorizationFailedError

from pipelines.publisher import Outgoing, Publisher
from serving.errors import Unavailable


class Wire:
    """Fails as told: an item of ``faults`` per attempt, None for success."""

    def __init__(self, *faults: BaseException | None, at_once: bool = False) -> None:
        self.faults = list(faults)
        self.at_once = at_once
        self.stored: list[bytes] = []

    async def send(self, message: Outgoing) -> Awaitable[object]:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and self.at_once:
            raise fault
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if fault is None:
            self.stored.append(message.value)
            done.set_result(None)
        else:
            done.set_exception(fault)
        return done


def messages(*values: bytes) -> list[Outgoing]:
    return [Outgoing("results", b"camera", value, 0.0) for value in values]


async def test_messages_are_stored_in_order() -> None:
    wire = Wire()
    await Publisher(wire.send).publish(messages(b"1", b"2", b"3"))
    assert wire.stored == [b"1", b"2", b"3"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_it_tries_until_the_broker_is_back(at_once: bool, caplog: pytest.LogCaptureFixture) -> None:
    away = [KafkaTimeoutError() for _ in range(5)]
    wire = Wire(*away, at_once=at_once)
    await Publisher(wire.send, retry_s=0).publish(messages(b"1"))
    assert wire.stored == [b"1"]
    assert caplog.text.count("cannot publish to results") == 1, "told once, not for every attempt"


async def test_after_a_failure_the_order_holds() -> None:
    wire = Wire(None, KafkaTimeoutError(), None)
    await Publisher(wire.send, retry_s=0).publish(messages(b"1", b"2", b"3"))
    assert wire.stored[-2:] == [b"2", b"3"], "what came behind the failure is sent again behind it"


async def test_a_message_that_is_too_large_is_replaced_by_its_shorter_form() -> None:
    wire = Wire(MessageSizeTooLargeError())
    await Publisher(wire.send).publish([Outgoing("results", b"camera", b"long" * 99, 0.0, lambda: b"short")])
    assert wire.stored == [b"short"]


async def test_a_message_without_a_shorter_form_is_a_clear_error() -> None:
    wire = Wire(MessageSizeTooLargeError())
    with pytest.raises(Unavailable, match=r"topic results refuses a message of 4 bytes: raise its max.message.bytes"):
        await Publisher(wire.send).publish(messages(b"long"))


async def test_waiting_does_not_help_against_a_lack_of_rights() -> None:
    wire = Wire(TopicAuthorizationFailedError("results"))
    with pytest.raises(Unavailable, match="cannot publish to results"):
        await Publisher(wire.send).publish(messages(b"1"))
