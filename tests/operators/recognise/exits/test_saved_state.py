"""A stream's exits survive a restart and a move; whatever is not what was saved begins anew."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.recognise.exits.saved_state import MOST_ARTEFACT_BYTES, SpecialisedState
from serving.common.untrusted import decode
from serving.errors import Malformed
from specialization.weg.state import WegState
from tests.operators.recognise.exits.crossing import CUT, SHA, Crossing
from tests.operators.recognise.exits.maker import Maker

COLOURS = ("blue", "blue", "green")
LARGEST = 1_000_000
"""Bytes that a snapshot may have on its way through a broker."""


async def served(per_track: bool = False) -> tuple[Crossing, bytes]:
    """A crossing where exits of the stream answer, and what it saves."""
    crossing = Crossing(per_track=per_track)
    if per_track:
        await crossing.tracks(COLOURS, 250)
    else:
        await crossing.until(lambda: crossing.phase() == "trusted", COLOURS)
    assert crossing.phase() == "trusted"
    data = crossing.node.snapshot("cam")
    assert data is not None
    return crossing, data


async def moved(data: bytes, labels: str = "words") -> Crossing:
    """Another worker, that goes on with what was saved."""
    other = Crossing(maker=Maker(first=10_000))
    other.labels = labels
    other.node.restore("cam", data)
    return other


def changed(data: bytes, **exits: Any) -> bytes:
    """A snapshot in which parts of the exits' state are others."""
    found = json.loads(data)
    found["exits"] |= exits
    return json.dumps(found).encode()


def of_the_next_version(found: Any) -> Any:
    """The same with another field in each part."""
    if isinstance(found, dict):
        return {"new": {"a": [1]}} | {key: of_the_next_version(each) for key, each in found.items()}
    return [of_the_next_version(each) for each in found] if isinstance(found, list) else found


@pytest.mark.parametrize("later", [False, True])
async def test_a_stream_that_moves_goes_on_answering_by_the_same_exits(later: bool) -> None:
    """Also where a worker of the next version has saved it, whose messages have more fields."""
    first, data = await served()
    other = await moved(json.dumps(of_the_next_version(json.loads(data))).encode() if later else data)
    assert await other.passing(COLOURS, 1) == {"oracle": 4}, "its network is opened"
    assert other.cut.is_open
    await other.until(lambda: other.special is not None and other.special.of("cam").in_use is not None, COLOURS, 3)
    assert await other.passing(COLOURS, 20) == {"specialised": 80}
    assert other.phase() == "trusted"
    assert other.maker.made == {}, "nothing had to be made"
    assert first.special is not None
    assert other.special is not None
    one, two = first.special.of("cam").in_use, other.special.of("cam").in_use
    assert one is not None
    assert two is not None
    assert (one.number, one.thresholds, one.spared) == (two.number, two.thresholds, two.spared)
    assert other.plan().agreement.audits >= first.plan().agreement.audits


async def test_a_stream_with_tracks_goes_on_too() -> None:
    first, data = await served(per_track=True)
    other = Crossing(per_track=True, maker=Maker(first=10_000))
    other.node.restore("cam", data)
    other.track = first.track
    await other.tracks(COLOURS, 6)
    assert await other.tracks(COLOURS, 6) == {"specialised": 6}


async def test_saved_again_before_the_network_is_open_nothing_is_lost() -> None:
    _, data = await served()
    middle = await moved(data)
    middle.engine.costs_s = {}  # it does not know yet what a look costs
    await middle.frame("blue")
    again = middle.node.snapshot("cam")
    assert again is not None
    other = await moved(again)
    await other.passing(COLOURS, 5)
    assert await other.passing(COLOURS, 5) == {"specialised": 20}


async def test_what_was_asked_for_and_has_not_come_is_asked_for_again() -> None:
    crossing = Crossing(maker=Maker(first=10_000))
    await crossing.until(lambda: bool(crossing.maker.wishes), COLOURS)
    data = crossing.node.snapshot("cam")
    assert data is not None
    other = Crossing()
    other.node.restore("cam", data)
    await other.until(lambda: other.phase() == "trusted", COLOURS)


@pytest.mark.parametrize(("change", "labels"), [({"identity": "cd" * 32}, "words"), ({}, "other words")])
async def test_exits_for_other_weights_or_words_are_not_gone_on_with(change: dict[str, Any], labels: str) -> None:
    _, data = await served()
    other = await moved(changed(data, **change), labels)
    assert await other.passing(COLOURS, 20) == {"oracle": 80}
    assert other.special is not None
    assert other.special.of("cam").in_use is None
    assert other.special.of("cam").weg.state.numbers <= 1, "WEG begins anew"
    assert other.phase() == "shadow", "its first exits have the number of those that had proven themselves"


@pytest.mark.parametrize(
    "change",
    [
        {"artefact": ""},
        {"artefact": "AAAA"},
        {"artefact": "!!"},
        {"artefact": "A" * (2 * MOST_ARTEFACT_BYTES)},
        {"in_use": None},
        {"in_use": {"number": 1, "thresholds": [0.5], "spared": 0.1}},
        {"in_use": {"number": -1, "thresholds": [0.5, 0.5], "spared": 0.1}},
        {"in_use": {"number": 99, "thresholds": [0.5, 7.0], "spared": 0.1}},
        {"in_use": {"number": 99, "thresholds": [0.5] * 1000, "spared": 0.1}},
        {"in_use": {"number": 99, "thresholds": [0.5, 0.5], "spared": 0.1}},
        {"version": -1},
        {"weg": None},
        {"weg": {"head": {"number": 1}}},
        {"account": 7},
        {"identity": 7},
        {"weg": {"answers": [99] * 30, "sources": [0] * 30}},
    ],
)
async def test_damaged_exits_are_made_anew_and_nothing_is_raised(change: dict[str, Any]) -> None:
    _, data = await served()
    other = await moved(changed(data, **change))
    assert await other.passing(COLOURS, 5) == {"oracle": 20}
    other.maker.first = 60
    await other.until(lambda: other.special is not None and other.special.of("cam").in_use is not None, COLOURS, 200)
    assert set(await other.passing(COLOURS, 2)) <= {"oracle", "specialised"}


async def test_the_audit_of_shared_exits_goes_on_only_where_the_same_exits_answer() -> None:
    first = Crossing(("cached",))
    await first.until(lambda: first.phase("cached") == "trusted", COLOURS)
    data = first.node.snapshot("cam")
    assert data is not None
    same, others = Crossing(("cached",)), Crossing(("cached",), maker=Maker(first=100))
    for other in (same, others):
        await other.until(lambda: other.shared.used is not None, COLOURS)  # noqa: B023
        other.node.restore("cam", data)
        await other.passing(COLOURS, 1)
    assert same.phase("cached") == "trusted"
    assert others.phase("cached") == "shadow"


async def hostile(classes: list[Any], number: int = 1) -> bytes:
    """A snapshot whose head is for these classes."""
    _, data = await served()
    found = json.loads(data)
    for head in (found["exits"]["weg"]["head"], *found["exits"]["weg"]["known"]):
        head["target"]["classes"] = classes
        head["number"] = number
    return json.dumps(found).encode()


@pytest.mark.parametrize("classes", [[99], [-1], [], [0, 0, 0], list(range(50)), [2**40]])
async def test_heads_for_words_that_are_not_there_neither_raise_nor_answer_otherwise(classes: list[int]) -> None:
    other = await moved(await hostile(classes))
    for _ in range(20):
        assert await other.frame("blue", "green") == ["blue", "green"]
        other.node.plans()
    assert other.node.snapshot("cam") is not None


def places(found: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers and lists are in a snapshot."""
    if isinstance(found, dict | list):
        yield from [above] if isinstance(found, list) else []
        for key, each in found.items() if isinstance(found, dict) else enumerate(found[:1]):
            yield from places(each, (*above, key))
    elif isinstance(found, int | float):
        yield above


@pytest.mark.parametrize("change", [{}, {"head": None, "wanted": None, "known": []}], ids=["in use", "sought"])
async def test_no_number_in_a_snapshot_has_a_frame_fail_or_work_without_end(change: dict[str, Any]) -> None:
    """Each is as small and as large as JSON has it; of lists a part is gone."""
    _, data = await served()
    whole = json.loads(data)
    whole["exits"]["weg"] |= change
    for place in places(whole):
        for value in (0, -1, -1e6, 1e308, 2**62, 10**30):
            inner = changed = copy.deepcopy(whole)
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = inner[place[-1]][:1] if isinstance(inner[place[-1]], list) else value
            other = await moved(json.dumps(changed).encode())
            assert sum((await other.passing(COLOURS, 2)).values()) == 2 * 4, (place, value)
            other.node.plans()


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_malformed_or_a_state(data: bytes) -> None:
    with suppress(Malformed):
        assert isinstance(decode(data, SpecialisedState), SpecialisedState)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff\x00", b'{"version": 5, "exits": []}', b"[" * 10_000])
async def test_a_node_begins_anew_with_a_snapshot_that_is_none(data: bytes) -> None:
    other = await moved(data)
    assert await other.passing(COLOURS, 1) == {"oracle": 4}


async def test_what_is_saved_comes_back_as_it_was() -> None:
    crossing, _ = await served()
    assert crossing.special is not None
    known = crossing.special.of("cam").state()
    assert msgspec.json.decode(msgspec.json.encode(known), type=SpecialisedState) == known
    assert (known.identity, known.labels, known.version) == (SHA, "words", 1)
    assert known.in_use is not None
    assert len(known.artefact) > 0


async def test_a_snapshot_stays_small_whatever_it_holds() -> None:
    crossing, data = await served()
    assert len(data) < 20_000
    assert crossing.special is not None
    known = crossing.special.of("cam").state()
    known.artefact = bytes(MOST_ARTEFACT_BYTES)
    known.weg = WegState(answers=[99] * 480, sources=[2] * 480, previous=[99] * 480, known=known.weg.known * 4)
    assert len(msgspec.json.encode(known)) < LARGEST
    assert crossing.looks(CUT) > 0


async def test_exits_too_large_for_a_message_are_left_out_and_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.recognise.exits.specialised.MOST_ARTEFACT_BYTES", 100)
    _, data = await served()
    state = decode(json.dumps(json.loads(data)["exits"]).encode(), SpecialisedState)
    assert (state.version, state.artefact, state.in_use) == (0, b"", None)
    other = await moved(data)
    assert await other.passing(COLOURS, 3) == {"oracle": 12}
