from __future__ import annotations

import asyncio

import pytest

from serving.errors import Unavailable
from serving.remote.protocol.parameters import WireLimits
from serving.remote.server.admission import STARTING, Admission, ServerLimits
from serving.remote.server.refusals import BackendFull

LIMITS = ServerLimits(in_flight=2, wire=WireLimits(message_bytes=100))


def test_more_requests_than_are_taken_are_refused_at_once_and_counted_off_when_they_end() -> None:
    admission = Admission(LIMITS)
    with admission.request(), admission.request(), pytest.raises(BackendFull, match="2 requests are in flight"):
        admission.request().__enter__()
    with admission.request():
        assert admission.requests == 1


def test_inputs_together_are_bounded() -> None:
    admission = Admission(LIMITS)
    with admission.room(3, LIMITS.input_bytes):
        assert admission.items == 3
        with pytest.raises(BackendFull, match="1 more are above 3200"):
            admission.room(1, 1).__enter__()
    assert (admission.items, admission.input_bytes) == (0, 0)


async def test_a_backend_that_drains_answers_what_is_in_flight_and_takes_no_more() -> None:
    admission = Admission(LIMITS)
    assert admission.unready == STARTING
    admission.open()
    assert admission.unready is None
    with admission.request():
        admission.drain("it ends")
        with pytest.raises(Unavailable, match="it ends"):
            admission.request().__enter__()
        waiting = asyncio.create_task(admission.idle())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
    admission.open()
    assert admission.unready == "it ends"
