"""The duties of every shortcut, as a list of checks: run each of them on yours::

@pytest.mark.parametrize("check", SHORTCUT_CHECKS, ids=lambda check: check.__name__)
async def test_mine_is_a_shortcut(check):
    await check(Case(lambda: Link(Mine(), fake_oracle())))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np

from cache_adapt.audit.state import Rule
from operators.frames.frame import Frame, Region
from operators.recognise.chain import Chain
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import AuditOutcome, Shortcut, Turn
from operators.recognise.terms import ChainTerms
from operators.testing.builders import call, make_frame, make_region, so_far
from operators.wire.schema import ShortcutKind
from serving.errors import Malformed

STREAM = "cam"


class CheckedShortcut(NamedTuple):
    """A new shortcut, and the oracle that it stands in for."""

    shortcut: Shortcut
    oracle: Oracle


def _tracked(seq: int) -> tuple[Frame, list[Region]]:
    regions = [make_region(0.3 * place, 0.2, id=place, track_id=place) for place in range(3)]
    return make_frame(seq, seq / 10), regions


async def _breathe(shortcut: Shortcut) -> None:
    for _ in range(8):
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Case:
    """A shortcut, as the checks need it."""

    make: Callable[[], CheckedShortcut]
    scene: Callable[[int], tuple[Frame, list[Region]]] = _tracked
    """A frame of the stream ``cam`` by its number, and its regions."""
    frames: int = 30
    """After so many the shortcut answers for a region of the next one."""
    model: str | None = None
    """The model that the decision names; None: the oracle."""
    settle: Callable[[Shortcut], Awaitable[None]] = _breathe
    """Returns when the shortcut's background work is done."""


Check = Callable[[Case], Awaitable[None]]


async def check_kind(case: Case) -> None:
    """Its kind is one that messages know, and its models have names."""
    shortcut = case.make().shortcut
    assert shortcut.kind in get_args(ShortcutKind)
    assert shortcut.models
    assert all(isinstance(model, str) for model in shortcut.models)


async def check_the_plan_is_obeyed(case: Case) -> None:
    """It is not asked for where the decision does not allow its kind."""
    link = case.make()
    model = case.model or link.oracle.name
    assert link.shortcut.is_planned(call(model))
    assert not link.shortcut.is_planned(call(model, shortcuts=frozenset()))


async def check_every_region_is_answered_or_passed_on(case: Case) -> None:
    """No region is lost, made or answered twice; what is passed on is not touched, and its order is kept."""
    link = case.make()
    frame, regions = await _taught(case, link)
    picture = frame.image.copy()
    turn = await link.shortcut.answer(frame, regions, call(case.model or link.oracle.name))
    answered, rest = list(turn.answered), list(turn.rest)
    assert answered, f"no answer after {case.frames} frames: the other checks would say nothing"
    assert sorted(map(id, answered + rest)) == sorted(map(id, regions))
    assert [region for region in regions if region in rest] == rest
    assert [[each.provenance for each in region.attributes] for region in answered] == [
        [link.shortcut.kind] for _ in answered
    ]
    assert all(region.attributes == [] for region in rest)
    assert np.array_equal(frame.image, picture)


async def check_streams_are_forgotten(case: Case) -> None:
    """Nothing is kept of a stream that was forgotten, and forgetting one that never came is no error."""
    link = case.make()
    await _taught(case, link)
    for stream in (STREAM, "another"):
        link.shortcut.forget(stream)
        assert link.shortcut.snapshot(stream) is None


async def check_snapshots_survive(case: Case) -> None:
    """A snapshot is JSON, goes on where it was taken, and is refused by an error of its own where it is damaged."""
    link, other = case.make(), case.make()
    await _taught(case, link)
    data = link.shortcut.snapshot(STREAM)
    if data is None:
        return
    json.loads(data)
    other.shortcut.restore(STREAM, data)
    assert other.shortcut.snapshot(STREAM) == data
    for damaged in (b"", b"[", b"[]", b"7"):
        try:
            case.make().shortcut.restore(STREAM, damaged)
        except Malformed:
            continue
        raise AssertionError(f"restore({damaged!r}) does not raise Malformed")


async def check_outcomes_may_be_late(case: Case) -> None:
    """An outcome may come for an answer of long ago, and for another link; disagreement raises nothing."""
    link = case.make()
    frame, regions = await _taught(case, link)
    turn = await link.shortcut.answer(frame, regions, call(case.model or link.oracle.name))
    await link.oracle.answer(frame, turn.rest, call(link.oracle.name))
    said, crop = regions[0].attributes[-1].label, frame.image[:8, :8].copy()
    for kind in (link.shortcut.kind, *get_args(ShortcutKind)):
        for agrees in (True, False):
            token = turn.token if kind == link.shortcut.kind else object()
            link.shortcut.audited(AuditOutcome(STREAM, kind, agrees, said, crop, token))
    link.shortcut.barred(STREAM)
    link.shortcut.learned(frame, Turn((), regions, allowed=False))
    link.shortcut.published(so_far("another"))


async def check_it_is_audited_like_every_other(case: Case) -> None:
    """In a chain every region gets one answer; the audit looks again, and a shortcut that it bars does not answer."""
    link = case.make()
    chain = Chain("node", [link.shortcut], link.oracle, ChainTerms(Rule(0.5, probation_rate=1.0)))
    for seq in range(case.frames + 10):
        frame, regions = case.scene(seq)
        await chain.process(frame, regions, call(case.model or link.oracle.name))
        assert [len(region.attributes) for region in regions] == [1] * len(regions)
        chain.published(frame.header.id)
        await case.settle(link.shortcut)
    await chain.close(10)
    (plan,) = chain.plans()[STREAM]
    assert (plan.kind, plan.oracle) == (link.shortcut.kind, link.oracle.name)
    assert plan.audits > 0
    assert await _provenances(case, Rule(1.0)) == {"oracle"}


async def check_closing_twice_is_no_error(case: Case) -> None:
    """Its opener closes it, and may do so again."""
    link = case.make()
    await _taught(case, link)
    await link.shortcut.close()
    await link.shortcut.close()


SHORTCUT_CHECKS: Sequence[Check] = (
    check_kind,
    check_the_plan_is_obeyed,
    check_every_region_is_answered_or_passed_on,
    check_streams_are_forgotten,
    check_snapshots_survive,
    check_outcomes_may_be_late,
    check_it_is_audited_like_every_other,
    check_closing_twice_is_no_error,
)


async def _taught(case: Case, link: CheckedShortcut) -> tuple[Frame, list[Region]]:
    """The shortcut has seen the scene's frames; returns the next one."""
    for seq in range(case.frames):
        frame, regions = case.scene(seq)
        turn = await link.shortcut.answer(frame, regions, call(case.model or link.oracle.name))
        await link.oracle.answer(frame, turn.rest, call(link.oracle.name))
        link.shortcut.learned(frame, turn)
        link.shortcut.published(frame.header.id)
        await case.settle(link.shortcut)
    return case.scene(case.frames)


async def _provenances(case: Case, rule: Rule) -> set[str]:
    """Who answers for the scene under a rule."""
    link = case.make()
    chain = Chain("node", [link.shortcut], link.oracle, ChainTerms(rule))
    found: set[str] = set()
    for seq in range(case.frames):
        frame, regions = case.scene(seq)
        await chain.process(frame, regions, call(case.model or link.oracle.name))
        found |= {region.attributes[-1].provenance for region in regions}
        chain.published(frame.header.id)
        await case.settle(link.shortcut)
    await chain.close(10)
    return found
