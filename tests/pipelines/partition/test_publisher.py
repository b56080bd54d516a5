"""Publishing: order, patience, and what cannot be helped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest
from aiokafka.errors import (
    InvalidMessageError,
    InvalidTimestampError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    TopicAuthorizationFailedError,
    UnknownError,
)

from pipelines.partition.publisher import Outgoing, Publisher
from serving.errors import Unavailable
from tests.at_once import AT_ONCE


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
    await Publisher(wire.send, AT_ONCE).publish(messages(b"1"))
    assert wire.stored == [b"1"]
    assert caplog.text.count("cannot publish to results") == 1, "told once, not for every attempt"


async def test_after_a_failure_the_order_holds() -> None:
    wire = Wire(None, KafkaTimeoutError(), None)
    await Publisher(wire.send, AT_ONCE).publish(messages(b"1", b"2", b"3"))
    assert wire.stored[-2:] == [b"2", b"3"], "what came behind the failure is sent again behind it"


async def test_a_message_that_is_too_large_is_replaced_by_its_shorter_form() -> None:
    wire = Wire(MessageSizeTooLargeError())
    await Publisher(wire.send).publish([Outgoing("results", b"camera", b"long" * 99, 0.0, lambda: b"short")])
    assert wire.stored == [b"short"]


async def test_a_message_that_is_too_large_even_in_short_is_left_out_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire(MessageSizeTooLargeError(), None, MessageSizeTooLargeError(), None)
    publisher = Publisher(wire.send)
    await publisher.publish([Outgoing("results", b"camera", b"long", 0.0, lambda: b"shorter"), *messages(b"2")])
    assert wire.stored[-1:] == [b"2"]
    assert publisher.left_out == 1
    assert "topic results refuses 7 bytes: raise its max.message.bytes" in caplog.text


@pytest.mark.parametrize("error", [InvalidTimestampError(), InvalidMessageError(), UnknownError(), ValueError("odd")])
async def test_a_message_that_the_broker_does_not_take_is_left_out_and_the_others_go_on(error: Exception) -> None:
    class Picky(Wire):
        async def send(self, message: Outgoing) -> Awaitable[object]:
            self.faults = [error] if message.value == b"odd" else []
            return await super().send(message)

    wire = Picky()
    publisher = Publisher(wire.send, AT_ONCE)
    await publisher.publish(messages(b"1", b"odd", b"2"))
    assert wire.stored[0] == b"1"
    assert wire.stored[-1] == b"2"
    assert publisher.left_out == 1


async def test_a_message_whose_time_is_refused_is_stored_with_the_present_time() -> None:
    wire = Wire(InvalidTimestampError())
    publisher = Publisher(wire.send, AT_ONCE)
    await publisher.publish(messages(b"1"))
    assert wire.stored == [b"1"]
    assert publisher.left_out == 0


async def test_waiting_does_not_help_against_a_lack_of_rights() -> None:
    wire = Wire(TopicAuthorizationFailedError("results"))
    with pytest.raises(Unavailable, match="cannot publish to results"):
        await Publisher(wire.send).publish(messages(b"1"))
