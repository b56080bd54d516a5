from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import cv2
import numpy as np
import pytest

from operators.transports.record_sets import UNREADABLE
from operators.wire.schema import FRAME_HEADER_KEY, DeadLetter, FrameHeader, from_json, to_json
from pipelines.kafka.letter_topic import TITLES, Mend, Place, letter_line, letter_text, original_bytes, remade
from serving.errors import BadInput

FRAMES = "sluice.frames.v1"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
JPEG = cv2.imencode(".jpg", np.full((48, 64, 3), 90, np.uint8))[1].tobytes()


def header(**changes: Any) -> bytes:
    fields = {"stream": "gate", "run": "r1", "seq": 7, "width": 64, "height": 48, "media_time_s": 0.7}
    return to_json(FrameHeader(**{**fields, "captured_at": AT, "encoding": "jpeg", **changes}))


def letter(value: bytes | None = JPEG, **changes: Any) -> DeadLetter:
    fields: dict[str, Any] = {
        "reason": "failed",
        "message": "detect: it broke",
        "topic": FRAMES,
        "partition": 2,
        "offset": 40,
        "key": "gate",
        "at": AT,
        "headers": {FRAME_HEADER_KEY: header().decode(), "traceparent": "00-1"},
        "value_bytes": len(value or b""),
        "value_base64": None if value is None else base64.b64encode(value).decode(),
    }
    return DeadLetter(**{**fields, **changes})


@pytest.mark.parametrize("text", ["", "3", "a:1", "1:-2", "1:2:3", " 1:2", "1:99999999999999999999"])
def test_places_are_partition_and_offset(text: str) -> None:
    assert Place.parse("3:17") == Place(3, 17)
    with pytest.raises(BadInput, match="sluice dlq list"):
        Place.parse(text)


def test_a_letter_in_one_line_and_in_full() -> None:
    line, text = letter_line(Place(0, 5), letter()), letter_text(Place(0, 5), letter())
    assert line.split()[:5] == ["0:5", "2026-03-01", "12:00:00", "failed", "gate"]
    assert line.index("detect: it broke") == TITLES.index("MESSAGE")
    assert "partition 2 offset 40" in text
    assert "header traceparent: 00-1" in text
    assert "not kept" in letter_text(Place(0, 5), letter(None))


def test_what_only_failed_is_put_back_as_it_was() -> None:
    message = remade(letter(), FRAMES, Mend())
    assert (message.key, message.value) == (b"gate", JPEG)
    assert message.headers == {FRAME_HEADER_KEY: header(), "traceparent": b"00-1"}


def test_a_batch_that_could_not_be_read_is_put_back_without_the_note_of_it() -> None:
    headers = {FRAME_HEADER_KEY: header().decode(), "caf\\xe9": "x", UNREADABLE: "offsets 3 to 4 cannot be read"}
    message = remade(letter(reason="unreadable_record", headers=headers), FRAMES, Mend())
    assert message.headers == {FRAME_HEADER_KEY: header(), "caf\\xe9": b"x"}


def test_an_age_from_now() -> None:
    later = AT + timedelta(days=2)
    message = remade(letter(), FRAMES, Mend(captured_at=later))
    assert from_json(message.headers[FRAME_HEADER_KEY], FrameHeader).captured_at == later


@pytest.mark.parametrize(
    ("bad", "mend"),
    [
        (letter(JPEG[:-40]), Mend(image=JPEG)),
        (letter(b""), Mend(image=JPEG)),
        (letter(None), Mend(image=JPEG)),
        (letter(value_base64="§"), Mend(image=JPEG)),
        (letter(headers={FRAME_HEADER_KEY: "{"}), Mend(header=header())),
        (letter(headers={}), Mend(header=header() + b"\n")),
        (letter(headers={FRAME_HEADER_KEY: header(width=65).decode()}), Mend(header=header())),
    ],
)
def test_what_would_fail_again_is_refused_until_it_is_mended(bad: DeadLetter, mend: Mend) -> None:
    with pytest.raises(BadInput, match="--header" if mend.header else "--image"):
        remade(bad, FRAMES, Mend())
    message = remade(bad, FRAMES, mend)
    assert message.value == JPEG
    assert message.headers[FRAME_HEADER_KEY] == header()


def test_a_letter_cannot_choose_the_topic() -> None:
    with pytest.raises(BadInput, match="only those from"):
        remade(letter(topic="payments"), FRAMES, Mend())


def test_damaged_bytes_are_no_bytes() -> None:
    with pytest.raises(BadInput, match="damaged"):
        original_bytes(letter(value_base64="a"))
