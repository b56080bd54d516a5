"""Links of nodes that learn: made at once where they may be used or can be paid, else postponed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cache_adapt.audit.state import Rule
from cache_adapt.caches import store
from learning.purse import Purse, unlimited
from operators.recognise.chain import Chain
from operators.recognise.shortcuts.postponed import Postponed
from operators.testing import FakeEngine
from pipelines.assembly.environment import Audits, Environment, Training
from pipelines.assembly.node import node
from pipelines.assembly.registry import Shortcuts
from pipelines.measure.cache_files import caches_file
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import SHIPPED, Catalogue
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.cached.paints import named
from tests.pipelines.assembly.test_caches import of_shipped

KNOWN = Catalogue([SHIPPED])
LEARNS = {"specialize": True, "caches": True}


@pytest.fixture
async def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ThreadSpecializer]:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    made = ThreadSpecializer()
    yield made
    await made.close()


def kinds(tmp_path: Path, trainer: ThreadSpecializer, purse: Purse, **options: object) -> list[str]:
    """The links of a node with these options: their classes, or what is postponed."""
    engine = FakeEngine(**{"street-kind": (KNOWN.find("street-kind").card, named)})
    spec = RecogniseNode.model_validate(
        {"name": "kind", "task": "recognise", "input": "track", "model": "street-kind", "answer": "track", **options}
    )
    training = Training(KNOWN, [tmp_path], trainer, tmp_path / "samples")
    chain = node(spec, Environment(engine, Audits(Shortcuts("q"), Rule(0.95), training, purse)))
    assert isinstance(chain, Chain)
    return [f"later {each.kind}" if isinstance(each, Postponed) else type(each).__name__ for each in chain.links]


def empty() -> Purse:
    return Purse(lambda: 0.0)


async def test_at_the_start_nothing_that_learns_is_made(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    assert kinds(tmp_path, trainer, empty(), **LEARNS) == ["later specialised", "later cached"]


async def test_whoever_may_spend_as_much_as_he_likes_has_them_at_once(
    tmp_path: Path, trainer: ThreadSpecializer
) -> None:
    assert kinds(tmp_path, trainer, unlimited(), **LEARNS) == ["Heads", "Caches"]


async def test_caches_that_were_built_are_there_at_once(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    store.write(caches_file(KNOWN.find("street-kind")), of_shipped(0.97))
    assert kinds(tmp_path, trainer, empty(), **LEARNS) == ["later specialised", "Caches"]


async def test_caches_that_release_are_there_at_once(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    assert kinds(tmp_path, trainer, empty(), caches="release") == ["ReleasedCaches"]
