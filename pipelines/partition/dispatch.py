"""Makes the messages that are published for an answer; a message that cannot be written is counted and logged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from operators.publish.track_events import Lifecycles
from operators.wire.mishaps import Mishaps
from operators.wire.schema import Counts, DeadLetter, Event, Result, to_json
from pipelines.partition.answer import Answer, without_objects
from pipelines.partition.dead_letters import letter_key, without_value
from pipelines.partition.message import Message
from pipelines.partition.publisher import Outgoing

T = TypeVar("T")


@dataclass(frozen=True)
class TopicNames:
    frames: str
    results: str
    events: str
    dlq: str


class Dispatch:
    """Makes the messages of one partition's answers."""

    def __init__(self, topics: TopicNames, derive: Lifecycles, mishaps: Mishaps) -> None:
        self._topics, self._derive, self._mishaps = topics, derive, mishaps

    def side_messages(self, message: Message, found: Answer) -> list[Outgoing]:
        """Make the messages that go out before the result: its events, and the dead letter."""
        events = self.events(found.result) if found.result else []
        made = [self._guarded("an event", message, partial(self._event, message, event)) for event in events]
        if (letter := found.dead_letter) is not None:
            made.append(self._guarded("a dead letter", message, partial(self._letter, message, letter)))
        return [outgoing for outgoing in made if outgoing is not None]

    def result(self, message: Message, found: Answer) -> list[Outgoing]:
        """Make the result message; the list is empty if the answer has no result."""
        if (result := found.result) is None:
            return []
        made = self._guarded("a result", message, partial(self._result, message, result, found.encoded))
        return [] if made is None else [made]

    def events(self, result: Result) -> list[Event | Counts]:
        """Derive events from a result; a stream whose events cannot be derived begins anew."""
        try:
            return [msgspec.structs.replace(event, query=result.query) for event in self._derive(result)]
        except Exception as error:
            place = f"stream {result.stream} seq {result.seq}"
            self._mishaps.note("events could not be derived", f"{place}: {type(error).__name__}: {error}")
            self._derive.forget(result.stream)
            return []

    def _guarded(self, what: str, message: Message, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except Exception as error:
            self._mishaps.note(f"{what} could not be written", f"{message.place}: {type(error).__name__}: {error}")
            return None

    def _event(self, message: Message, event: Event | Counts) -> Outgoing:
        return Outgoing(self._topics.events, event.stream.encode(), to_json(event), message.timestamp_s)

    def _letter(self, message: Message, letter: DeadLetter) -> Outgoing:
        key, shorter = letter_key(message), without_value(letter)
        return Outgoing(self._topics.dlq, key, to_json(letter), message.timestamp_s, lambda: to_json(shorter))

    def _result(self, message: Message, result: Result, encoded: bytes | None) -> Outgoing:
        """Make the message with the time of its frame, by which ``KafkaResume`` finds it."""
        value = to_json(result) if encoded is None else encoded
        cause = f"the result of {len(value)} bytes is too large for topic {self._topics.results}"
        return Outgoing(
            self._topics.results,
            result.stream.encode(),
            value,
            message.timestamp_s,
            lambda: to_json(without_objects(result, cause)),
        )
