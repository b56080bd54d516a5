"""Heads that read at a cut of the oracle: what they pass on goes on from there, and is paid for once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from cache_adapt.audit.state import Rule
from learning.purse import SHARE, Purse, unlimited
from operators.audits.unit_costs import HANDLING_S, RESUMING_S
from operators.recognise.specialised import own_samples
from operators.recognise.specialised.early_cuts import RETRIED
from operators.recognise.specialised.head_supply import CUT_LOOKS
from serving.errors import ModelError, SluiceError
from serving.scheduling.requests import Urgency
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.specialised.shades import Scene, said

FRAMES = 200
"""Within so many it is known how often the node looks, and whether a cut pays."""
HALF, REST = "tiny+half", "big+half"
HALF_S, REST_S, WHOLE_S = 0.0015 + HANDLING_S, 0.0187 + RESUMING_S, 0.02 + HANDLING_S


@pytest.fixture
async def specializer() -> AsyncIterator[ThreadSpecializer]:
    made = ThreadSpecializer()
    yield made
    await made.close()


async def answering(directory: Path, trainer: ThreadSpecializer, **more: Any) -> Scene:
    """A scene whose head answers for the shades 1 and 2 at a cut of the oracle, and that nothing was asked since."""
    scene = Scene(directory, trainer, Rule(0.9, probation_rate=0.0), early=True, **more)
    await scene.specialised()
    await cut(scene)
    scene.engine.asked.clear()
    return scene


async def cut(scene: Scene) -> None:
    """Go on until the oracle is cut, or should have been."""
    for number in range(FRAMES):
        await scene.frame(1, 2, 1, 2, 5, tracks=range(5 * number, 5 * number + 5))
        await scene.heads.settled()
        if scene.supply.features.resumes("tiny"):
            return


def asked(scene: Scene) -> list[tuple[str, int]]:
    """Network and number of items of all requests for the frame itself."""
    return [(model, len(batch)) for model, batch, deadline in scene.engine.asked if deadline < math.inf]


def without(scene: Scene, network: str) -> None:
    """From now on this network cannot be run."""
    infer = scene.engine.infer

    async def fail(model: str, batch: NDArray[Any], urgency: Urgency) -> list[NDArray[Any]]:
        if model == network:
            raise SluiceError(f"{network} has failed")
        return await infer(model, batch, urgency)

    scene.engine.infer = fail  # type: ignore[method-assign]


async def test_what_a_head_passes_on_goes_on_from_its_cut(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = await answering(tmp_path, specializer)
    assert said(await scene.frame(1, 5, 2, 6)) == [
        ("shade-1", "specialised"),
        ("shade-5", "oracle"),
        ("shade-2", "specialised"),
        ("shade-6", "oracle"),
    ]
    assert asked(scene) == [(HALF, 4), (REST, 2)]


async def test_the_first_layers_are_paid_for_once(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = await answering(tmp_path, specializer)
    seconds = scene.supply.books.of("cam").seconds
    alone_s, saved_s = seconds.alone, seconds.saved + seconds.spent
    await scene.frame(1, 5, 2, 6)
    assert seconds.alone - alone_s == pytest.approx(4 * WHOLE_S)
    used_s = 4 * WHOLE_S - (seconds.saved + seconds.spent - saved_s)
    assert used_s == pytest.approx(4 * HALF_S + 2 * REST_S)


async def test_weg_counts_what_is_left_of_the_oracle(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = await answering(tmp_path, specializer)
    template = scene.supply.rules(0).templates["tiny"]
    assert (template.cost, template.passed) == (pytest.approx(HALF_S / WHOLE_S), pytest.approx(REST_S / WHOLE_S))
    assert Scene(tmp_path / "before", specializer, early=True).supply.features.passed("tiny") == 1.0  # it is not cut


async def test_the_rest_and_the_whole_are_compared_by_items_that_ran_alone(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = await answering(tmp_path, specializer)
    singles = {"big": 0.03, REST: 0.028}  # those of a batch take less
    scene.engine.single_s = singles.get  # type: ignore[method-assign]
    assert scene.supply.features.passed_s("tiny") == pytest.approx(WHOLE_S - (0.002 + HANDLING_S - RESUMING_S))


async def test_a_rest_that_costs_as_much_as_the_whole_is_not_run(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = await answering(tmp_path, specializer)
    scene.engine.costs_s[REST] = 0.021
    assert said(await scene.frame(1, 5)) == [("shade-1", "specialised"), ("shade-5", "oracle")]
    assert asked(scene) == [(HALF, 2), ("big", 1)]
    assert scene.supply.features.passed("tiny") == 1.0
    for _ in range(RETRIED - 2):
        await scene.frame(1, 2)
    scene.engine.asked.clear()
    await scene.frame(1, 5)
    await scene.frame(1, 5)
    assert asked(scene) == [(HALF, 2), (REST, 1), (HALF, 2), ("big", 1)]


async def test_an_oracle_that_cannot_be_cut_begins_with_its_first_layer(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, early=True)
    load = scene.engine.load

    async def whole(model: str) -> float:
        if model == HALF:
            raise ModelError("it cannot be cut there")
        return await load(model)

    scene.engine.load = whole  # type: ignore[method-assign]
    await scene.specialised()
    await cut(scene)
    scene.engine.asked.clear()
    await scene.frame(1, 5)
    assert asked(scene) == [("tiny", 2), ("big", 1)]
    assert scene.supply.rules(0).templates["tiny"].passed == 1.0


@pytest.mark.parametrize(("failing", "runs"), [(REST, [(HALF, 2), ("big", 1)]), (HALF, [("tiny", 2), ("big", 1)])])
async def test_where_a_half_fails_the_whole_answers(
    tmp_path: Path, specializer: ThreadSpecializer, failing: str, runs: Sequence[tuple[str, int]]
) -> None:
    scene = await answering(tmp_path, specializer)
    without(scene, failing)
    assert said(await scene.frame(1, 5)) == [("shade-1", "specialised"), ("shade-5", "oracle")]
    assert asked(scene) == runs


async def test_in_the_shadow_a_head_reads_what_the_oracle_computes(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, early=True)
    while not scene.cascade().in_use:
        await scene.show([1, 2])
        await scene.heads.settled()
    await scene.supply.features.cut("tiny")
    scene.engine.asked.clear()
    seconds = scene.supply.books.of("cam").seconds
    shadow_s, audits = seconds.shadow, scene.plan().audits
    assert said(await scene.frame(1, 5, 2)) == [("shade-1", "oracle"), ("shade-5", "oracle"), ("shade-2", "oracle")]
    assert Counter(model for model, *_ in scene.engine.asked) == {HALF: 1, REST: 1}
    assert scene.plan().audits == audits + 2
    assert seconds.shadow - shadow_s == pytest.approx(3 * (HALF_S + REST_S - WHOLE_S))


@pytest.mark.parametrize("per_track", [False, True])
async def test_samples_are_read_on_the_oracles_way(
    tmp_path: Path, specializer: ThreadSpecializer, per_track: bool
) -> None:
    scene = Scene(tmp_path, specializer, store=False, early=True, per_track=per_track)
    await scene.frame(4, tracks=[4])  # what its look costs says that heads may pay
    await scene.supply.features.cut("tiny")
    scene.engine.asked.clear()
    seconds = scene.supply.books.of("cam").seconds
    samples_s = seconds.samples
    await scene.frame(1, 2, 3, tracks=[1, 2, 3])
    assert [(model, len(batch)) for model, batch, _ in scene.engine.asked] == [(HALF, 3), (REST, 3)]
    assert seconds.samples - samples_s == pytest.approx(3 * (HALF_S + REST_S - WHOLE_S))
    await scene.node.close(1.0)
    assert scene.samples() == {1: 1, 2: 1, 3: 1}


async def test_once_there_are_enough_samples_the_oracle_runs_whole(
    tmp_path: Path, specializer: ThreadSpecializer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_samples, "ENOUGH", 2)
    scene = Scene(tmp_path, specializer, store=False, early=True)
    await scene.show([1, 1, 1])
    await scene.supply.features.cut("tiny")
    scene.engine.asked.clear()
    await scene.frame(1)
    assert asked(scene) == [("big", 1)]


async def test_looks_at_tracks_go_on_too(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = await answering(tmp_path, specializer, per_track=True)
    regions = await scene.frame(1, 5, tracks=[71, 72])
    assert [region.attributes[0].looked for region in regions] == ["specialised", "oracle"]
    assert asked(scene) == [(HALF, 2), (REST, 1)]


async def test_a_variant_begins_with_its_own_first_layer(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = await answering(tmp_path, specializer, variant=True)
    scene.serve("variant")
    await scene.specialised()
    assert scene.supply.features.resumes("tiny")
    scene.engine.asked.clear()
    assert said(await scene.frame(1, 5)) == [("shade-1", "specialised"), ("shade-5", "variant")]
    assert asked(scene) == [(HALF, 2), ("small", 1)]


async def test_the_oracle_is_cut_only_where_that_pays_and_can_be_paid(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, early=True)
    await scene.specialised()
    supply, ledger = scene.supply, scene.supply.books.of("cam")
    enough = CUT_LOOKS * WHOLE_S / (0.2 * (0.1 * 0.02 + HANDLING_S - RESUMING_S))
    supply.cut_where_due("tiny", 0.2, 0.99 * enough, ledger)
    supply.books.purse = Purse(lambda: CUT_LOOKS * WHOLE_S / SHARE)  # nothing would be left for an audit
    supply.cut_where_due("tiny", 0.2, 1.01 * enough, ledger)
    await supply.settled()
    assert not supply.features.resumes("tiny")
    training_s = ledger.seconds.training
    supply.books.purse = unlimited()
    supply.cut_where_due("tiny", 0.2, 1.01 * enough, ledger)
    await supply.settled()
    assert supply.features.resumes("tiny")
    assert ledger.seconds.training - training_s == pytest.approx(scene.engine.opening_s)


async def test_a_head_that_passes_on_nothing_is_no_reason_for_a_cut(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, Rule(0.9, probation_rate=0.0), early=True)
    await scene.specialised()
    for _ in range(FRAMES):
        await scene.frame(1, 2)
    await scene.heads.settled()
    assert scene.plan().phase == "probation"
    assert not scene.supply.features.resumes("tiny")
