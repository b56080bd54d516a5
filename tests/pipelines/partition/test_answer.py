"""What is checked of an answer is what is published."""

from __future__ import annotations

import msgspec

from operators.wire.mishaps import Mishaps
from operators.wire.schema import to_json
from pipelines.partition.answer import Answer, checked
from pipelines.partition.dispatch import Dispatch, TopicNames
from pipelines.partition.message import Message
from pipelines.partition.publisher import log
from tests.integration.worker_parts import NoEvents
from tests.operators.publish.messages import result

MESSAGE = Message("frames", 0, 7, b"gate", b"", (), 1000.0)
TOPICS = TopicNames("frames", "results", "events", "dlq")


def published(found: Answer) -> bytes:
    (outgoing,) = Dispatch(TOPICS, NoEvents(), Mishaps(log)).result(MESSAGE, found)
    return outgoing.value


def test_the_bytes_that_were_checked_are_published() -> None:
    found = checked(MESSAGE, Answer(result(3)))
    assert found.encoded == to_json(result(3))
    assert published(found) is found.encoded, "a result is encoded once"


def test_a_result_that_nobody_may_publish_is_that_of_a_failed_frame() -> None:
    found = checked(MESSAGE, Answer(msgspec.structs.replace(result(3), stream="")))
    assert found.result is not None
    assert found.dead_letter is not None
    assert found.result.outcome == "failed"
    assert published(found) == to_json(found.result)
