"""What a sink wants, ids, and which message is an event's frame."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from operators.frames.codec import encode_frame
from operators.wire.schema import FRAME_HEADER_KEY, to_json
from pipelines.observe.forward.frame_finder import among
from pipelines.observe.forward.sink import notice_of, read_event
from pipelines.observe.forward.sinks_file import WebhookSpec
from serving.errors import Malformed
from tests.operators.publish.messages import picture, result
from tests.pipelines.observe.forward.notes import HOSTILE, count_note, event, event_note, state_note


def sink(**said: Any) -> WebhookSpec:
    return WebhookSpec.model_validate({"name": "a", "to": "webhook", "url": "http://a"} | said)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({}, True),
        ({"kinds": ["new"]}, True),
        ({"kinds": ["end", "state"]}, False),
        ({"streams": ["ya*", "x"]}, True),
        ({"streams": ["gate"]}, False),
        ({"labels": ["moving"]}, True),
        ({"labels": ["van"]}, True),
        ({"labels": ["bus"]}, False),
        ({"kinds": ["new"], "labels": ["bus"]}, False),
    ],
)
def test_a_sink_wants_what_passes_all_its_filters(said: dict[str, Any], wanted: bool) -> None:
    assert sink(**said).wants(event_note("yard")) is wanted


@pytest.mark.parametrize(
    ("where", "wanted"),
    [({"zone": "ramp"}, True), ({"line": "gate"}, True), ({"zone": "yard"}, False), ({}, False)],
)
def test_a_sink_of_zones_wants_what_happens_there(where: dict[str, str], wanted: bool) -> None:
    assert sink(zones=["ramp", "gate"]).wants(event_note(**where)) is wanted


def test_labels_and_zones_do_not_keep_states_and_counts_back() -> None:
    for note in (state_note(), count_note()):
        assert sink(labels=["bus"], zones=["ramp"]).wants(note)
    assert not sink(kinds=["new"]).wants(state_note())


def test_a_pattern_is_no_regular_expression() -> None:
    assert not sink(streams=["y.rd"]).wants(event_note("yard"))
    assert sink(streams=["*"]).wants(event_note(HOSTILE))


def test_an_id_is_of_the_content_alone() -> None:
    assert event_note("yard", 1).id == event_note("yard", 1).id
    ids = {
        count_note().id,
        event_note("yard", 1).id,
        event_note("yard", 2).id,
        event_note("gate", 1).id,
        state_note().id,
    }
    assert len(ids) == 5


def test_unknown_fields_are_left_out_and_what_is_no_event_is_refused() -> None:
    with_more = to_json(event())[:-1] + b',"more":{"a":1}}'
    assert b"more" not in to_json(read_event(with_more))
    assert notice_of(read_event(with_more)).id == event_note().id
    with pytest.raises(Malformed):
        read_event(to_json(event()).replace(b'"new"', b'"no such type"'))


def message(seq: int, stream: str = "yard", run: str = "r1", **header: Any) -> Any:
    frame_header, jpeg = encode_frame(picture(result(seq, stream=stream, run=run)))
    data = to_json(frame_header).replace(b'"jpeg"', b'"none"') if header.get("bare") else to_json(frame_header)
    return SimpleNamespace(key=stream.encode(), headers=[(FRAME_HEADER_KEY, data)], value=jpeg)


def test_the_frame_of_an_event_is_foundamong_those_of_other_streams_and_runs() -> None:
    others = [message(7, "gate"), message(7, run="r0"), message(6)]
    broken = SimpleNamespace(key=b"yard", headers=[(FRAME_HEADER_KEY, b"{")], value=b"")
    found = among([*others, broken, message(7), message(8)], event(seq=7))
    assert isinstance(found, tuple)
    assert (found[0].stream, found[0].run, found[0].seq) == ("yard", "r1", 7)
    assert among([*others, broken], event(seq=7)) is None


def test_a_frame_that_is_gone_or_has_no_image_is_told_apart() -> None:
    assert among([message(6), message(8)], event(seq=7)) == "gone"
    assert among([message(7, bare=True)], event(seq=7)) == "no_image"
