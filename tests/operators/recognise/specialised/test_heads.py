"""A node that specialises: who answers, what is learnt from it, and that nothing waits for training."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from learning.purse import Purse
from operators.audits.snapshot import NodeSnapshot
from operators.recognise.account.books import Ledger
from operators.recognise.specialised.makers import Trained
from operators.recognise.specialised.own_samples import NOTHING, Computed
from operators.testing import make_region, so_far
from operators.wire.schema import FrameId
from specialization.rates import Rates
from specialization.trainer.trainer import ThreadSpecializer
from specialization.weg.state import ORACLE, Head
from tests.operators.recognise.specialised.shades import Scene, said

EAGER = Rule(0.9, probation_rate=1.0)


@pytest.fixture
async def specializer() -> AsyncIterator[ThreadSpecializer]:
    made = ThreadSpecializer()
    yield made
    await made.close()


async def test_the_oracle_answers_until_a_head_is_there(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    assert said(await scene.show([1, 2, 3])) == [("shade-1", "oracle"), ("shade-2", "oracle"), ("shade-3", "oracle")]
    await scene.specialised()
    assert scene.trained.heard == [("cam", "type", ("shade-1", "shade-2"), True)]
    asked = len(scene.engine.asked)
    (region,) = await scene.frame(1)
    (answer,) = region.attributes
    assert (answer.label, answer.provenance, answer.name) == ("shade-1", "specialised", "shade")
    assert (answer.model.name, answer.model.version, answer.model.tier) == ("tiny", "1", "specialised")
    assert answer.confidence > 0.5
    assert [model for model, _, deadline in scene.engine.asked[asked:] if deadline == 7.0] == ["tiny"]


async def test_what_the_head_does_not_know_the_oracle_answers(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    assert said(await scene.frame(1, 5, 2, 6)) == [
        ("shade-1", "specialised"),
        ("shade-5", "oracle"),
        ("shade-2", "specialised"),
        ("shade-6", "oracle"),
    ]
    plan = scene.plan().specialization
    assert plan is not None
    assert (plan.phase, plan.classes, plan.template) == ("specialised", ["shade-1", "shade-2"], "tiny")
    assert (plan.head, plan.fallback, plan.transitions) == (2, 2, 1)


async def test_without_skew_the_oracle_goes_on(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    answers = said(await scene.show([shade % 8 for shade in range(200)]))
    assert {provenance for _, provenance in answers} == {"oracle"}


async def test_a_head_is_dropped_when_the_content_changes(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised((1, 2))
    await scene.show([5, 6] * 60)
    await scene.specialised((5, 6))
    plan = scene.plan().specialization
    assert plan is not None
    assert plan.classes == ["shade-5", "shade-6"]


async def test_a_head_that_contradicts_the_oracle_is_dropped_and_more_is_demanded(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, Rule(0.97, probation_rate=1.0))
    await scene.specialised()
    scene.wrong = {2: 1}
    assert said(await scene.show([2])) == [("shade-1", "specialised")]
    for _ in range(100):
        if scene.plan().phase == "off":
            break
        await scene.show([1, 1, 1, 1, 1, 1, 1, 2])  # too seldom for WEG, which fears what is worse
    assert said(await scene.show([2])) == [("shade-2", "oracle")]
    assert scene.plan().phase == "off"
    assert scene.plan().switch_offs[0].reason.startswith("agrees too seldom")
    cascade = scene.cascade()
    assert (cascade.strictness, cascade.in_use, cascade.state().heads) == (1, None, {})
    known = len(cascade.weg.state.answers)
    await scene.show([1, 2, 1])
    assert len(cascade.weg.state.answers) == known


async def test_streams_specialise_each_for_itself(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised((1, 2), stream="a")
    assert said(await scene.frame(1, stream="b")) == [("shade-1", "oracle")]
    await scene.specialised((3, 4), stream="b")
    assert said(await scene.frame(1, 3, stream="a")) == [("shade-1", "specialised"), ("shade-3", "oracle")]


async def test_a_damaged_store_leaves_the_oracle_to_answer(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    (tmp_path / "tiny" / "labels.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(AssertionError, match="no head"):
        await scene.specialised(most=120)
    assert said(await scene.frame(1)) == [("shade-1", "oracle")]


async def test_looks_of_heads_and_of_the_oracle_are_pooled_to_the_tracks_answer(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, per_track=True)
    await scene.specialised()
    answers = [(await scene.frame(0, 1, 5, tracks=[6, 7, 8]))[1:] for _ in range(10)]
    looked = [[region.attributes[0].looked for region in regions] for regions in answers]
    assert looked[0] == ["specialised", "oracle"]
    assert {said([first])[0] for first, _ in answers} == {("shade-1", "track")}
    assert {said([second])[0] for _, second in answers} == {("shade-5", "track")}
    specialization = scene.plan().specialization
    assert specialization is not None
    assert specialization.reused >= 20


async def test_a_head_of_tracks_follows_what_objects_turned_out_to_be(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, per_track=True)
    for track in range(80):
        await scene.frame(1 + track % 2, tracks=[track], at_s=20.0 * track)  # the one before is over
        await scene.heads.settled()
    state = scene.cascade().weg.state
    assert state.head
    assert state.head.target.classes == (1, 2)
    assert set(state.sources) == {ORACLE}  # it is in the shadow: the oracle has answered
    assert len(state.answers) == 78  # one was looked at before the head was there, and the last is not over


async def test_a_tracked_object_is_no_new_observation_in_every_frame(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, per_track=True, nameless=["shade-3"])
    for _ in range(30):
        await scene.frame(1, 2, 3, tracks=[7, 8, 9])
    await scene.frame(tracks=[], at_s=60.0)  # the tracks are over
    assert sorted(scene.cascade().weg.state.answers) == [1, 2]  # what has no name tells nothing of the classes


async def test_the_timeline_tells_how_far_heads_may_be_believed(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, EAGER)
    await scene.specialised()
    await scene.show([1, 2] * 10)
    (latest,) = [each.agreement for each in scene.node.timelines()["cam"].state.slices if each.agreement][-1:]
    found = scene.plan().agreement.sequential
    assert latest == pytest.approx((found.low, found.high), abs=1e-4)


async def test_what_is_known_of_a_stream_moves_to_another_worker(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, EAGER)
    await scene.specialised()
    await scene.show([1, 2] * 10)
    known = scene.node.snapshot("cam")
    assert known
    assert len(known) < 40_000
    other = Scene(tmp_path, specializer, EAGER)
    other.node.restore("cam", known)
    assert said(await other.frame(2, 3)) == [("shade-2", "specialised"), ("shade-3", "oracle")]
    assert other.plan().answers == scene.plan().answers + 2
    assert scene.plan().agreement.sequential.low > 0.3
    assert other.plan().agreement.audits >= 20
    before, after = (plan.plan().specialization for plan in (scene, other))
    assert before
    assert after
    assert after.transitions == before.transitions == 1


@pytest.mark.parametrize(
    ("model", "change"), [("tiny", {"sha256": "f" * 64}), ("tiny", {"detail": 2}), ("big", {"mean": (1.0, 1.0, 1.0)})]
)
async def test_heads_of_another_network_or_input_are_asked_for_anew(
    tmp_path: Path,
    specializer: ThreadSpecializer,
    caplog: pytest.LogCaptureFixture,
    model: str,
    change: dict[str, object],
) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    known = scene.node.snapshot("cam")
    assert known
    other = Scene(tmp_path, specializer)
    other.engine.change_card(model, **change)
    with caplog.at_level(logging.INFO):
        other.node.restore("cam", known)
    assert "head 1 is not used: its networks, or their input, have changed" in caplog.text
    assert said(await other.frame(1)) == [("shade-1", "oracle")]
    await other.specialised()


async def test_heads_for_other_labels_are_forgotten(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene, other = Scene(tmp_path, specializer), Scene(tmp_path, specializer)
    await scene.specialised()
    known = scene.node.snapshot("cam")
    assert known
    other.supply.labels.digest = "those of another gallery"
    other.node.restore("cam", known)
    assert said(await other.frame(1)) == [("shade-1", "oracle")]
    assert len(other.cascade().weg.state.answers) == 1


async def test_damaged_heads_are_logged_and_asked_for_anew(
    tmp_path: Path, specializer: ThreadSpecializer, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    known = scene.node.snapshot("cam")
    assert known
    other = Scene(tmp_path, specializer)
    other.node.restore("cam", known.replace(b'"heads":{"1":"', b'"heads":{"1":"AAAA'))
    assert "a specialised head is damaged" in caplog.text
    assert said(await other.frame(1)) == [("shade-1", "oracle")]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 3, "audits": 3}'])
async def test_a_damaged_snapshot_is_logged_and_ignored(
    tmp_path: Path, specializer: ThreadSpecializer, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    scene = Scene(tmp_path, specializer)
    scene.node.restore("cam", data)
    assert "stream cam, node type: the snapshot is damaged, the stream begins anew" in caplog.text
    assert said(await scene.frame(1)) == [("shade-1", "oracle")]


async def test_a_stream_that_is_gone_stays_in_the_report(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    await scene.frame(1)
    scene.node.forget("cam")
    assert scene.node.snapshot("cam") is None
    plan = scene.plan().specialization
    assert plan is not None
    assert plan.transitions == 1
    assert list(scene.node.timelines()) == ["cam"]
    assert said(await scene.frame(1)) == [("shade-1", "oracle")]


async def test_without_a_training_set_heads_learn_from_the_streams_own_samples(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, store=False)
    await scene.show([1, 2] * 20)
    assert scene.cascade().weg.state.phase == "selecting"  # nobody knows yet how well heads do
    rng = np.random.default_rng(1)
    for _ in range(40):
        await scene.show(rng.choice(8, 30, p=[0.04, 0.36, 0.36, 0.05, 0.05, 0.05, 0.05, 0.04]).tolist())
        await scene.heads.settled()
        if scene.cascade().in_use:
            break
    head = scene.cascade().weg.state.head
    assert head
    scene.serve("specialised", head.number)
    assert {1, 2} <= set(head.target.classes)
    other = next(shade for shade in range(8) if shade not in head.target.classes)
    assert said(await scene.frame(1, other)) == [("shade-1", "specialised"), (f"shade-{other}", "oracle")]


async def test_heads_are_trained_for_what_the_camera_shows_beside_the_training_set(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, Rule(0.8))
    scene.wrong = {1: 8}  # this camera's shade 1 looks like nothing in the training set
    rng = np.random.default_rng(1)
    for _ in range(40):
        await scene.show(rng.choice(8, 30, p=[0.04, 0.36, 0.36, 0.05, 0.05, 0.05, 0.05, 0.04]).tolist())
        await scene.heads.settled()
    assert said(await scene.show([1, 2])) == [("shade-1", "specialised"), ("shade-2", "specialised")]


async def test_a_head_that_turns_out_not_to_serve_is_not_used(
    tmp_path: Path, specializer: ThreadSpecializer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path, specializer)
    train = scene.supply.train

    async def unsure(head: Head, strictness: int, ledger: Ledger, stream: str) -> Trained:
        trained = await train(head, strictness, ledger, stream)
        return Trained(replace(trained.head, rates=Rates(a_in=0.0, e_in_out=1.0, a_out=1.0)))

    monkeypatch.setattr(scene.supply, "train", unsure)
    with pytest.raises(AssertionError, match="no head"):
        await scene.specialised(most=100)
    assert said(await scene.frame(1)) == [("shade-1", "oracle")]
    assert {used for *_, used in scene.trained.heard} == {False}


async def test_samples_of_a_frame_are_taken_once_it_is_complete(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, store=False)
    await scene.frame(4)  # what its look costs says that heads may pay, and the compact network is loaded
    scene.engine.asked.clear()
    await scene.frame(1, 2, 3)
    assert [(model, len(batch), deadline) for model, batch, deadline in scene.engine.asked] == [
        ("big", 3, 7.0),
        *[("tiny", 1, math.inf)] * 3,
    ]
    await scene.node.close(1.0)
    assert scene.samples() == {1: 1, 2: 1, 3: 1}


async def test_samples_are_what_the_oracle_said_and_what_it_audited(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, Rule(0.9, probation_rate=0.0))
    await scene.specialised()
    before = scene.samples()
    await scene.show([1, 2, 1, 2, 5])
    assert scene.samples() == {**before, 5: 1}
    audited = Scene(tmp_path / "audited", specializer, EAGER)
    await audited.specialised()
    before = audited.samples()
    await audited.show([1, 2, 1, 2])
    await audited.frame(7)  # what was audited last is taken by now
    assert [audited.samples()[shade] - before[shade] for shade in (1, 2)] == [2, 2]


async def test_answers_of_a_frame_that_came_to_nothing_are_not_audited(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, EAGER)
    await scene.specialised()
    scene.leaves = False
    await scene.frame(1, 2)
    scene.node.dropped(FrameId("cam", "run-1", scene.seq - 1))
    scene.node.published(so_far())
    await scene.node.close(1.0)
    assert (scene.plan().audits, scene.plan().given_up) == (0, 2)


async def test_audits_of_a_stream_that_is_gone_are_finished_and_teach_nothing(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, EAGER)
    await scene.specialised()
    before, scene.leaves = scene.samples(), False
    await scene.frame(1, 2)
    scene.node.published(so_far())
    scene.node.forget("cam")
    await scene.node.close(1.0)
    assert scene.plan().audits == 2
    assert scene.samples() == before


async def test_while_heads_are_switched_off_the_oracle_answers_and_nothing_is_learnt_of_the_stream(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene, other = Scene(tmp_path, specializer), Scene(tmp_path, specializer)
    await scene.specialised()
    data = scene.node.snapshot("cam")
    assert data
    known = msgspec.json.decode(data, type=NodeSnapshot)
    known.audits["specialised"].phase = "off"
    known.audits["specialised"].rest = 3
    known.audits["specialised"].edition = 1
    other.node.restore("cam", known.to_json())
    answers = len(other.cascade().weg.state.answers)
    assert [by for _, by in said(await other.show([1, 2, 1]))] == ["oracle"] * 3
    assert len(other.cascade().weg.state.answers) == answers
    await other.show([1, 2])
    assert other.plan().phase == "shadow"
    assert len(other.cascade().weg.state.answers) > answers


async def test_a_head_a_variant_and_the_oracle_look_in_this_order(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, EAGER, variant=True)
    scene.serve("variant")
    assert said(await scene.frame(1, 5)) == [("shade-1", "variant"), ("shade-5", "variant")]
    await scene.specialised()
    assert said(await scene.frame(2, 1, 5)) == [
        ("shade-2", "specialised"),
        ("shade-1", "specialised"),
        ("shade-5", "variant"),
    ]
    assert [plan.kind for plan in scene.node.plans()["cam"]] == ["specialised", "variant"]
    plans = {kind: scene.plan(kind) for kind in ("specialised", "variant")}
    assert plans["specialised"].answers == 3
    assert min(plan.audits for plan in plans.values()) > 0


async def test_what_a_variant_says_is_no_sample_but_what_its_audits_say_is(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    unaudited = Scene(tmp_path / "unaudited", specializer, Rule(0.9, probation_rate=0.0), variant=True)
    unaudited.serve("variant")
    await unaudited.show([1, 2, 3])
    assert not (unaudited.samples_at / "tiny").exists()
    audited = Scene(tmp_path / "audited", specializer, EAGER, variant=True)
    audited.serve("variant")
    await audited.show([1, 2, 3])
    await audited.frame(7)  # what was audited last is taken by now
    assert set(audited.samples()) >= {1, 2, 3}


async def test_a_shortcut_with_a_damaged_snapshot_begins_anew_and_the_rest_goes_on(
    tmp_path: Path, specializer: ThreadSpecializer, caplog: pytest.LogCaptureFixture
) -> None:
    scene, other = Scene(tmp_path, specializer, EAGER), Scene(tmp_path, specializer, EAGER)
    await scene.specialised()
    await scene.show([1, 2])
    known = msgspec.json.decode(scene.node.snapshot("cam") or b"")
    known["shortcuts"]["specialised"] = {"weg": 3}
    other.node.restore("cam", msgspec.json.encode(known))
    assert "stream cam, node type: the snapshot of 'specialised' is damaged, it begins anew" in caplog.text
    assert said(await other.frame(1)) == [("shade-1", "oracle")]
    assert other.plan().answers == scene.plan().answers + 1


async def test_what_has_no_name_is_no_observation(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, nameless=["shade-3"])
    await scene.show([3] * 40)
    assert scene.cascade().weg.state.answers == []
    await scene.show([1, 3, 2, 3])
    assert scene.cascade().weg.state.answers == [1, 2]


async def test_looks_of_heads_are_in_the_account_and_the_plan_says_what_was_saved(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    account = scene.node.books.of("cam").seconds
    before_s = account.avoided
    await scene.frame(1, 2, 5)
    assert account.avoided - before_s == pytest.approx(2 * 0.0205)
    plan = scene.plan().specialization
    assert plan is not None
    assert plan.processor_s is not None
    assert plan.processor_s.spent > 0
    assert plan.processor_s.oracle > 0.6  # thirty looks of 20.5 ms
    assert plan.reason is None


async def test_a_stream_without_a_head_says_what_it_waits_for(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, purse=Purse(lambda: 1.0))
    await scene.show([1, 2] * 40)
    assert scene.engine.loaded == []
    assert scene.trained.heard == []
    plan = scene.plan().specialization
    assert plan is not None
    assert "heads are not used yet" in (plan.reason or "")


async def test_a_stream_is_not_followed_before_the_next_step_can_be_paid(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    used_s = 8.0
    scene = Scene(tmp_path, specializer, purse=Purse(lambda: used_s))
    await scene.show([1, 2] * 50)
    await scene.heads.settled()
    assert scene.engine.loaded == ["tiny"]
    assert len(scene.cascade().weg.state.answers) <= 1  # 0.1 s are left, and training takes 0.2
    used_s = 40.0
    await scene.show([1, 2] * 50)
    await scene.heads.settled()
    assert scene.cascade().weg.state.known


async def test_in_the_shadow_a_stream_is_followed_as_far_as_looks_can_be_paid(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    used_s = 1e9
    scene = Scene(tmp_path, specializer, purse=Purse(lambda: used_s))
    for shade in [1, 2] * 100:
        await scene.frame(shade)
        await scene.heads.settled()
        if scene.cascade().in_use:
            break
    used_s = 0.0
    await scene.frame(1)
    heard = len(scene.cascade().weg.state.answers)
    await scene.show([1, 2] * 20)
    assert scene.cascade().in_use
    assert len(scene.cascade().weg.state.answers) == heard
    used_s = 1e9
    await scene.show([1, 2] * 20)
    assert len(scene.cascade().weg.state.answers) > heard


async def test_a_head_that_costs_more_than_it_saves_is_left(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    scene.engine.costs_s = {"big": 0.0015, "tiny": 0.03}
    await scene.show([1, 2] * 10)
    assert scene.cascade().in_use is None
    assert said(await scene.frame(1)) == [("shade-1", "oracle")]


async def test_what_a_variant_takes_is_deducted_from_what_it_spares(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, specialize=False, variant=True)
    scene.serve("variant")
    await scene.frame(1, 2)
    account = scene.node.books.of("cam").seconds
    assert (account.avoided, account.shortcuts) == (pytest.approx(2 * 0.0205), pytest.approx(2 * 0.0055))


async def test_what_a_head_has_read_of_an_object_is_a_sample_without_another_look(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer)
    await scene.specialised()
    before = scene.samples().get(5, 0)
    scene.engine.asked.clear()
    assert said(await scene.frame(5)) == [("shade-5", "oracle")]
    assert [model for model, *_ in scene.engine.asked] == ["tiny", "big"]
    assert scene.samples()[5] == before + 1


def test_what_a_head_has_read_in_the_shadow_is_not_taken_for_another_object() -> None:
    computed = Computed("tiny", regions := [make_region(id=1), make_region(id=1)], np.eye(2, dtype=np.float32))
    row = computed.of("tiny", regions[1])
    assert row is not None
    assert row.tolist() == [0, 1]
    assert computed.of("other", regions[1]) is None
    assert computed.of("tiny", make_region(id=1)) is None
    assert NOTHING.of("tiny", regions[0]) is None
