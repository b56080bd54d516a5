"""Turns one message of the frames topic into a result, a dead letter, or both; it knows no transport."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from operators.frames.codec import FrameError, decode_frame
from operators.frames.jpeg_picture import LOOKED_AT
from operators.wire import bounds
from operators.wire.schema import DeadLetter, FrameHeader, Result, from_json, to_json
from pipelines.partition.dead_letters import dead_letter
from pipelines.partition.message import Message
from serving.common.untrusted import shortened

if TYPE_CHECKING:
    from pipelines.execute.executor import Executor


@dataclass(frozen=True, slots=True)
class Answer:
    """The messages to publish for a message; empty if it was answered before."""

    result: Result | None = None
    dead_letter: DeadLetter | None = None
    encoded: bytes | None = None
    """The result as it is published; None where it has not been encoded yet."""


async def answer(message: Message, header: FrameHeader, analyser: Executor) -> Answer:
    """Analyse the frame of a message; every error becomes part of the answer, and none is raised."""
    try:
        return await _answer(message, header, analyser)
    except Exception as error:
        return failed(message, header, analyser, error)


def failed(message: Message, header: FrameHeader, analyser: Executor, error: Exception) -> Answer:
    """A dead letter, and the result of a frame that failed. Raises nothing: without a result the letter has to do."""
    letter = dead_letter(message, *reason_of(error))
    try:
        return Answer(analyser.unanalysed(header, "failed", cause_of(error)), letter)
    except Exception:
        return Answer(dead_letter=letter)


def reason_of(error: Exception) -> tuple[str, str]:
    """The code of an error that costs a frame, and what it says."""
    if isinstance(error, FrameError):
        return error.reason, str(error)
    return "failed", f"{type(error).__name__}: {error}"


def cause_of(error: Exception) -> str:
    """The cause in the result of the frame that an error costs."""
    return _cause(": ".join(reason_of(error)))


def checked(message: Message, answered: Answer) -> Answer:
    """The answer, if its result keeps to the bounds of messages; else that of a failed frame."""
    if answered.result is None:
        return answered
    try:
        encoded = to_json(answered.result)
        from_json(encoded, Result)
    except Exception as error:
        why = f"the result is none that can be published: {error}"
        return Answer(without_objects(answered.result, why), dead_letter(message, "failed", why))
    return replace(answered, encoded=encoded)


def without_objects(result: Result, explanation: str) -> Result:
    """The result to publish where the whole one cannot be."""
    short = msgspec.structs.replace(result.plan, stages_ms={})
    return msgspec.structs.replace(result, outcome="failed", cause=_cause(explanation), objects=[], plan=short)


async def _answer(message: Message, header: FrameHeader, analyser: Executor) -> Answer:
    if header.encoding == "none":
        return Answer(analyser.unanalysed(header, "dropped", header.cause or "dropped by capture"))
    result = await analyser.submit(header, lambda: decode_frame(header, message.value or b"", LOOKED_AT))
    if result.cause is not None:
        result = msgspec.structs.replace(result, cause=_cause(result.cause))
    if result.outcome == "failed":
        return Answer(result, dead_letter(message, "failed", result.cause or "the analysis failed"))
    return Answer(result)


def _cause(explanation: str) -> str:
    return shortened(explanation.encode(errors="backslashreplace").decode(), bounds.TEXT_CHARS)
