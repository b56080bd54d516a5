"""The contract of shortcuts, on each that ships and on one that somebody else might write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from operators.audits.roles import Roles
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import Shortcut, Turn
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.specialised.heads import Heads
from operators.recognise.terms import ChainTerms
from operators.testing import (
    SHORTCUT_CHECKS,
    Case,
    CheckedShortcut,
    FakeEngine,
    call,
    card_of,
    fake_oracle,
    make_frame,
    make_region,
    scores,
    so_far,
)
from operators.testing.shortcut_checks import Check
from operators.wire.schema import Attribute, Model, ShortcutKind
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.specialised.shades import STEP, Scene


class Places(Shortcut):
    """What stood in the left half of the picture was, so far, what stands there now: no network at all."""

    kind: ShortcutKind = "cached"
    models: Sequence[str] = ("left-half",)

    def __init__(self) -> None:
        self._known: dict[str, Attribute] = {}

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        known = self._known.get(frame.stream)
        left = [region for region in regions if known and region.box.x_max < 0.5]
        for region in left:
            region.attributes.append(self._answer(known.name, known.label))
        return Turn(left, [region for region in regions if region not in left])

    def learned(self, frame: Frame, turn: Turn) -> None:
        for region in turn.rest:
            self._known[frame.stream] = region.attributes[-1]

    def forget(self, stream: str) -> None:
        self._known.pop(stream, None)

    def _answer(self, name: str, label: str) -> Attribute:
        model = Model(name="left-half", version="1", tier="rule")
        return Attribute(name=name, label=label, confidence=0.9, provenance=self.kind, model=model)


@pytest.fixture
async def trainer() -> AsyncIterator[ThreadSpecializer]:
    made = ThreadSpecializer()
    yield made
    await made.close()


@pytest.fixture
def cases(tmp_path: Path, trainer: ThreadSpecializer) -> dict[str, Case]:
    return {
        "variant": Case(variant, model="small"),
        "heads": heads(tmp_path, trainer),
        "places": Case(lambda: CheckedShortcut(Places(), fake_oracle())),
    }


def variant() -> CheckedShortcut:
    says = lambda batch: [scores(["blue"] * len(batch))]  # noqa: E731
    engine = FakeEngine(small=(card_of("small", tier="compact"), says), big=(card_of("big"), says))
    recogniser = Classifier(engine, Roles.of(["small", "big"], engine.card), "paint")
    return CheckedShortcut(VariantShortcut(recogniser, *recogniser.roles.shortcuts), Oracle(recogniser))


def heads(directory: Path, trainer: ThreadSpecializer) -> Case:
    def make() -> CheckedShortcut:
        scene = Scene(directory, trainer)
        return CheckedShortcut(scene.heads, scene.oracle)

    async def settle(shortcut: Shortcut) -> None:
        assert isinstance(shortcut, Heads)
        await shortcut.settled()

    return Case(make, shades, frames=120, settle=settle)


def shades(seq: int) -> tuple[Frame, list[Region]]:
    """One frame of shade 1 or 2, and now and then of 5."""
    shade = 5 if seq % 20 == 19 else 1 + seq % 2
    picture = np.full((100, 100, 3), shade * STEP, np.uint8)
    return make_frame(seq, seq / 10, picture), [make_region(0, 0, 1, 1)]


@pytest.mark.parametrize("name", ["variant", "heads", "places"])
@pytest.mark.parametrize("check", SHORTCUT_CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_shortcut_has_to(check: Check, name: str, cases: dict[str, Case]) -> None:
    await check(cases[name])


class Greedy(Places):
    """Passes on what it has answered."""

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        return Turn((await super().answer(frame, regions, call)).answered, regions)


class Sticky(Places):
    """Does not forget, and says so."""

    def forget(self, stream: str) -> None:
        pass

    def snapshot(self, stream: str) -> bytes | None:
        return b"{}"


class Wilful(Places):
    """Answers whatever the plan says."""

    def is_planned(self, call: Call) -> bool:
        return True


@pytest.mark.parametrize("broken", [Greedy, Sticky, Wilful])
async def test_the_checks_find_what_is_wrong(broken: Callable[[], Shortcut]) -> None:
    case = Case(lambda: CheckedShortcut(broken(), fake_oracle()))
    failed = [check.__name__ for check in SHORTCUT_CHECKS if not await passes(check, case)]
    assert failed


async def passes(check: Check, case: Case) -> bool:
    try:
        await check(case)
    except AssertionError:
        return False
    return True


async def test_another_kind_is_plugged_in_by_one_line_and_audited_like_the_others() -> None:
    oracle = fake_oracle()
    chain = Chain("type", [Places()], oracle, ChainTerms(Rule(0.5, probation_rate=1.0)))
    given = []
    for seq in range(20):
        regions = [make_region(0.1, id=0), make_region(0.7, id=1)]
        await chain.process(make_frame(seq, seq / 10), regions, call(oracle.name))
        chain.published(so_far())
        await asyncio.sleep(0)
        given.append([region.attributes[-1].provenance for region in regions])
    await chain.close(10)
    assert given[0] == ["oracle"] * 2
    assert given[-1] == ["cached", "oracle"]
    (plan,) = chain.plans()["cam"]
    assert (plan.kind, plan.phase) == ("cached", "trusted")
    assert plan.audits > 5
    assert plan.agreement.disagreements == 0
