"""A link that is made once it can be paid: nothing of it is loaded before, and it takes its place in the chain."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import pytest

from cache_adapt.audit.state import Rule
from learning.purse import Purse
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.recognise.account.books import Books
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.postponed import Making, Postponed
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.terms import ChainTerms
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, scores, so_far
from serving.errors import ModelError
from tests.turns import turns, until

COST_S, NEXT_S = 0.5, 0.25


class Made(VariantShortcut):
    """The link that is made; notes what it is given."""

    restored: bytes | None = None
    is_ready = False

    async def prepare(self) -> None:
        self.is_ready = True

    def restore(self, stream: str, data: bytes) -> None:
        self.restored = data


class KnownBooks(Books):
    """Books in which the cost of a look of the oracle is known."""

    oracle_s = 0.01  # type: ignore[assignment]


class Scene:
    """A node whose shortcut is postponed; ``used_s``: processor seconds of the process, of which half may be spent."""

    def __init__(self, why_not: str | None = None, error: Exception | None = None, follows: bool = False) -> None:
        self.used_s, self.loaded_in, self.why_not, self._error = 0.0, list[int](), why_not, error
        engine = FakeEngine(big=(card_of("big"), lambda batch: [scores(["red"] * len(batch))]))
        self.recogniser = Classifier(engine, Roles.of(["big"], engine.card), "paint")
        self.purse = Purse(lambda: self.used_s, share=0.5)
        books = KnownBooks("big", None, self.purse)
        self.links: list[Shortcut] = []
        making = Making("cached", follows, "caches", self._load, COST_S, NEXT_S, "samples", lambda: self.why_not)
        self.postponed = Postponed("node type", making, books, lambda link: self.links.__setitem__(0, link))
        self.links.append(self.postponed)
        self.chain = Chain("type", self.links, Oracle(self.recogniser), ChainTerms(Rule(0.9), books=books))

    def _load(self) -> Callable[[], Shortcut]:
        self.loaded_in.append(threading.get_ident())
        if self._error is not None:
            raise self._error
        return lambda: Made(self.recogniser, "big")

    async def frame(self, seq: int = 0) -> None:
        region = make_region()
        await self.chain.process(make_frame(seq), [region], call())
        assert [(each.label, each.provenance) for each in region.attributes] == [("red", "oracle")]
        self.chain.published(so_far())
        await turns()


async def test_nothing_is_loaded_before_it_can_be_paid() -> None:
    scene = Scene()
    scene.used_s = 1.4  # of which .7 may be spent: enough for it, but not for what comes next
    for seq in range(20):
        await scene.frame(seq)
    assert scene.loaded_in == []
    assert scene.links == [scene.postponed]
    (plan,) = scene.chain.plans()["cam"]
    assert plan.kind == "cached"
    assert plan.reason is not None
    assert plan.reason.startswith("caches are not used yet: getting ready to make them takes 0.8 s of processor time; ")


async def test_it_is_loaded_in_a_thread_made_ready_and_put_in_place_once_it_can_be_paid() -> None:
    scene = Scene()
    await scene.frame()
    scene.used_s = 1.6
    await scene.frame(1)
    await until(lambda: scene.links != [scene.postponed])
    (made,) = scene.links
    assert isinstance(made, Made)
    assert made.is_ready
    assert len(scene.loaded_in) == 1
    assert scene.loaded_in[0] != threading.get_ident()
    await turns()
    assert scene.purse.spent.keys() == {"samples"}
    assert scene.purse.spent_s < COST_S  # what it took, and not the estimate
    await scene.frame(2)


async def test_what_cannot_pay_is_never_loaded_and_says_why_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    scene = Scene(why_not="the oracle is too fast")
    scene.used_s = 1e6
    for seq in range(3):
        await scene.frame(seq)
    assert scene.loaded_in == []
    (plan,) = scene.chain.plans()["cam"]
    assert plan.reason == "caches are not used yet: the oracle is too fast"
    assert caplog.messages == ["node type: caches are not used: the oracle is too fast"]


async def test_what_cannot_be_loaded_is_tried_once_and_says_why() -> None:
    scene = Scene(error=ModelError("big is not there"))
    scene.used_s = 1e6
    for seq in range(3):
        await scene.frame(seq)
        await until(lambda: scene.postponed.why_silent() == "caches are not used yet: big is not there")
    assert len(scene.loaded_in) == 1


async def test_what_another_worker_has_saved_makes_it_at_once() -> None:
    scene = Scene()
    scene.chain.restore("cam", NodeSnapshot(shortcuts={"cached": msgspec.Raw(b'{"a":1}')}).to_json())
    (made,) = scene.links
    assert isinstance(made, Made)
    assert made.restored == b'{"a":1}'


async def test_one_that_follows_the_content_stands_at_the_beginning() -> None:
    scene = Scene(follows=True)
    await scene.frame()
    (plan,) = scene.chain.plans()["cam"]
    assert plan.specialization is not None
    assert plan.specialization.phase == "initialising"
    assert plan.specialization.reason == scene.postponed.why_silent()


async def test_closing_gives_up_what_is_being_made() -> None:
    scene = Scene()
    scene.used_s = 10.0
    await scene.frame()
    await scene.chain.close(1.0)
    await turns()
