"""The account of every frame: what must hold whatever was killed, stopped or cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar

import msgspec

from operators.wire.schema import Plan, Result
from tests.real.topic import Topics


class Numbered(Protocol):
    """A frame's header or its result."""

    stream: str
    run: str
    seq: int


N = TypeVar("N", bound=Numbered)
FrameId = tuple[str, str, int]


def frame_id(item: Numbered) -> FrameId:
    return item.stream, item.run, item.seq


def answered(topics: Topics) -> bool:
    """Whether every frame of the topic has a result."""
    return set(map(frame_id, topics.frames())) <= set(map(frame_id, topics.results()))


def unanswered(topics: Topics) -> str:
    """The frames without result: how many, and the first and last of them."""
    missing = sorted(set(map(frame_id, topics.frames())) - set(map(frame_id, topics.results())))
    return f"{len(missing)} frames, {missing[:3]} … {missing[-3:]}"


def assert_unbroken(items: Iterable[Numbered]) -> None:
    """Sequence numbers of each run go 0, 1, 2, … in the order of the messages; repetitions do not count."""
    runs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for item in dict.fromkeys(map(frame_id, items)):
        runs[item[:2]].append(item[2])
    for run, numbers in runs.items():
        assert numbers == list(range(len(numbers))), f"{run} is broken"


def assert_accounted(topics: Topics, repetitions: bool = True) -> list[Result]:
    """Every frame has its result and no result is of no frame; those that came twice say the same. The results.

    A broker that ends between its write and its answer makes capture send frames again.
    """
    frames, results = topics.frames(), topics.results()
    assert frames
    numbered = {frame_id(frame): frame for frame in frames}
    assert all(frame == numbered[frame_id(frame)] for frame in frames)
    assert set(map(frame_id, results)) == set(map(frame_id, frames))
    assert_unbroken(frames)
    assert_unbroken(results)
    contents = defaultdict(set)
    for result in results:
        contents[frame_id(result)].add(content(result))
    assert all(len(said) == 1 for said in contents.values())
    assert repetitions or len(results) == len(frames) == len(numbered)
    assert [letter.value[:500] for letter in topics.messages("dlq")] == []
    return results


def content(result: Result) -> bytes:
    """A result without what depends on how fast it was found."""
    return msgspec.json.encode(msgspec.structs.replace(result, plan=Plan(slo_ms=result.plan.slo_ms, deadline_met=True)))
