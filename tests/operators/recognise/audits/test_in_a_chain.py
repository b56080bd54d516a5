"""Audits of a node that answers for tracks: both networks answer the same looks, and what they say together counts."""

from __future__ import annotations

import pytest

from cache_adapt.audit.state import AuditState, Rule
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.testing import make_frame
from tests.operators.recognise.audits.street import EVERY, Street, served


async def test_in_the_shadow_the_oracle_answers_and_the_shortcut_looks_unseen() -> None:
    street = Street()
    (region,) = await street.frame([7])
    assert (region.attributes[0].provenance, region.attributes[0].looked) == ("track", "oracle")
    await street.pass_by(7)
    await street.empty()
    assert (street.plan.phase, street.plan.audits, street.plan.agreement.found) == ("shadow", 1, 1.0)
    assert (street.plan.answers, street.plan.shortcut_share) == (1, 0.0)
    assert street.asked("small", background=False) == 0
    assert street.asked("small", background=True) == 1  # it was sure at once
    assert street.asked("big", background=True) == 0


async def test_a_shortcut_that_has_proven_itself_answers_from_then_on() -> None:
    street = Street(Rule(0.5))
    for track in range(10):
        assert not street.node.plans() or street.plan.phase == "shadow"
        await street.pass_by(track)
    await street.empty()
    assert (street.plan.phase, street.plan.audits) == ("trusted", 10)
    (region,) = await street.frame([99])
    assert region.attributes[0].looked == "variant"
    assert street.asked("big", background=True) == 0  # the proof has cost no run of the oracle


async def test_a_shortcut_that_contradicts_is_off_and_nobody_has_seen_its_answers() -> None:
    street = Street(Rule(0.9))
    street.small = {3: "red"}
    for track in range(8):
        assert await street.pass_by(track, shade=3) == "blue"
    await street.empty()
    assert street.plan.phase == "off"
    assert street.plan.switch_offs[0].reason.startswith("agrees too seldom")
    assert street.plan.shortcut_share == 0.0
    assert all(found.in_shadow for found in street.disagreements())


@pytest.mark.parametrize("known", [None, served()])
async def test_an_object_is_one_audit_however_often_it_is_looked_at(known: AuditState | None) -> None:
    street = Street(EVERY, known=known)
    await street.pass_by(7, frames=200)
    await street.empty()
    assert (street.plan.audits, street.plan.answers) == (1, 1)


@pytest.mark.parametrize(("known", "second"), [(None, "small"), (served(), "big")])
async def test_all_looks_up_to_the_conclusion_are_made_twice(known: AuditState | None, second: str) -> None:
    street = Street(EVERY, known=known)
    street.sure = {"small": 0.3, "big": 0.3}
    await street.pass_by(7, frames=30)
    await street.empty()
    assert street.asked(second, background=True) == LOOK_RULE.most_looks
    assert street.plan.agreement.audits == 1


async def test_no_look_is_compared_that_only_one_of_both_has_made() -> None:
    """The object changes while it is looked at: looks of other moments would differ, these do not."""
    street = Street(EVERY, known=served())
    street.sure = {"small": 1.0, "big": 1.0}
    street.small = street.big = {3: "red", 4: "green"}
    for shade in (3, 3, 4, 4, 3, 3, 4, 4, 3, 3, 4, 4, 3, 3):
        await street.frame([7], shade)
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.disagreements) == (1, 0)


async def test_looks_at_what_has_no_track_yet_are_no_audits() -> None:
    street = Street()
    for _ in range(30):
        await street.frame([None])
    assert street.asked("small", background=True) == 0
    street = Street(EVERY, known=served())
    (region,) = await street.frame([None])
    assert region.attributes[0].provenance == "variant"
    assert street.asked("big", background=True) == 0
    assert street.node.plans() == {}


async def test_in_service_the_oracle_looks_at_drawn_objects_in_the_background() -> None:
    street = Street(EVERY, known=served())
    assert await street.pass_by(7) == "blue"
    await street.empty()
    assert (street.plan.phase, street.plan.audits, street.plan.shortcut_share) == ("probation", 1, 1.0)
    assert (street.asked("big", background=False), street.asked("big", background=True)) == (0, 1)


async def test_in_service_what_the_looks_together_say_is_compared() -> None:
    street = Street(EVERY, known=served())
    street.small = {3: "red"}
    await street.pass_by(7, shade=3)
    await street.pass_by(8)
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.disagreements) == (2, 1)
    (found,) = street.disagreements()
    assert (found.stream, found.node, found.track_id, found.in_shadow) == ("cam", "type", 7, False)


async def test_a_look_that_differs_alone_is_no_disagreement_where_the_object_is_called_the_same() -> None:
    street = Street(EVERY, known=served())
    street.sure = {"small": 1.5, "big": 1.5}
    street.small = {3: "red"}
    for shade in (3, *[0] * 20):
        await street.frame([7], shade)
    await street.empty()
    assert street.asked("big", background=True) > 1
    assert (street.plan.audits, street.plan.agreement.disagreements) == (1, 0)


async def test_looks_at_a_part_of_an_object_do_not_count_once_the_whole_was_seen() -> None:
    street = Street(EVERY, known=served())
    street.small = {3: "red"}
    street.sure = {"small": 3.0, "big": 3.0}
    for _ in range(20):
        await street.frame([7], shade=3, x=0.0)
    assert await street.pass_by(7, frames=5) == "blue"
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.disagreements) == (1, 0)


async def test_unknown_is_a_word_and_names_that_it_takes_away_are_lost() -> None:
    street = Street(EVERY, known=served(), min_confidence=0.6)
    street.sure = {"small": 0.3, "big": 9.0}
    assert await street.pass_by(7) == "unknown"
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.disagreements) == (1, 1)
    assert street.plan.names_lost is not None
    assert (street.plan.names_lost.names, street.plan.names_lost.lost) == (1, 1)
    ((found, picture),) = street.heard.calls["audit_disagreed"]
    assert (found.shortcut.found[0].label, found.oracle.found[0].label) == ("unknown", "blue")
    assert picture is not None, "both networks name it alike, and only one is sure"


async def test_in_the_shadow_each_name_counts_once_though_the_second_look_comes_after_the_conclusion() -> None:
    street = Street(Rule(0.5))
    street.small = {3: "red"}
    for track in range(4):
        await street.pass_by(track, shade=3 * (track % 2))
    await street.empty()
    assert (street.plan.phase, street.plan.audits) == ("shadow", 4)
    assert street.plan.names_lost is not None
    assert (street.plan.names_lost.names, street.plan.names_lost.lost, street.plan.names_lost.found) == (4, 2, 0.5)


async def test_where_both_say_unknown_they_agree_and_no_name_is_lost() -> None:
    street = Street(EVERY, known=served(), min_confidence=0.9)
    street.sure = {"small": 0.3, "big": 0.4}
    street.small = {3: "red"}
    assert await street.pass_by(7, shade=3) == "unknown"
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.disagreements) == (1, 0)
    assert street.plan.names_lost is None


async def test_objects_are_drawn_by_who_they_are_whatever_is_said_of_them() -> None:
    drawn = []
    for said in ({}, {}, dict.fromkeys(range(30), "red")):
        street = Street(Rule(0.9, probation_rate=0.3), known=served())
        street.small, street.big = said, said
        for track in range(20):
            await street.pass_by(track, frames=10)
        await street.empty()
        drawn.append(
            (street.plan.audits, [batch.tolist() for model, batch, _ in street.engine.asked if model == "big"])
        )
    assert drawn[0] == drawn[1] == drawn[2]
    assert 1 <= drawn[0][0] <= 14


async def test_an_object_that_was_not_drawn_is_never_compared_whatever_is_drawn_later() -> None:
    street = Street(Rule(0.9, probation_rate=0.0), known=served())
    await street.frame([7])
    street.node._streams.known()["cam"].audits.of("variant small").rule = EVERY
    await street.pass_by(7, frames=100)
    assert street.asked("big", background=True) == 0
    await street.pass_by(8)
    assert street.asked("big", background=True) == 1


async def test_an_object_that_is_never_seen_whole_is_compared_when_it_has_gone() -> None:
    street = Street(EVERY, known=served())
    for _ in range(20):
        await street.frame([7], x=0.0)
    assert street.plan.audits == 0
    await street.empty()
    assert (street.plan.audits, street.plan.given_up) == (1, 0)


async def test_an_object_that_never_ends_is_audited_and_holds_nothing() -> None:
    street = Street(EVERY, known=served())
    await street.pass_by(7, frames=1000)
    assert (street.plan.audits, street.plan.given_up) == (1, 0)
    street = Street(EVERY, known=served())
    for _ in range(1000):
        await street.frame([7], x=0.0)  # at the border for ever: there is never a conclusion
    assert (street.plan.audits, street.plan.given_up) == (1, 0)


async def test_a_new_run_ends_the_trials_of_the_old_one() -> None:
    street = Street(EVERY, known=served())
    street.sure = {"small": 1.5, "big": 1.5}
    for _ in range(6):
        await street.frame([7], run="run-1")
    assert street.plan.audits == 0
    await street.frame([7], run="run-2")
    assert (street.plan.audits, street.plan.answers) == (1, 2)


async def test_a_stream_that_is_forgotten_ends_its_trials() -> None:
    street = Street(EVERY, known=served())
    street.sure = {"small": 1.5, "big": 1.5}
    for _ in range(6):
        await street.frame([7])
    assert street.plan.audits == 0
    street.node.forget("cam")
    assert (street.plan.audits, street.plan.given_up) == (1, 0)
    assert street.node.snapshot("cam") is None


async def test_nothing_is_kept_of_the_tracks_of_a_stream_that_is_gone() -> None:
    street = Street(EVERY, known=served())
    for _ in range(6):
        await street.frame([7])
    known = street.node._streams.known()["cam"]
    assert known.trials.has_answered(7, "variant small")
    street.node.forget("cam")
    assert not known.trials.has_answered(7, "variant small")


async def test_what_is_under_way_when_a_stream_is_forgotten_is_finished() -> None:
    street = Street(EVERY, known=served())
    street.background.clear()
    for _ in range(6):
        await street.frame([7])
    street.node.forget("cam")
    assert street.plan.audits == 0
    street.background.set()
    await street.node.close(1.0)
    assert street.plan.audits == 1


async def test_frames_do_not_wait_and_trials_end_without_the_looks_that_were_never_made() -> None:
    street = Street(EVERY, known=served())
    street.background.clear()
    assert await street.pass_by(7) == "blue"
    await street.node.close(0.01)
    assert (street.plan.audits, street.plan.given_up) == (0, 1)


async def test_what_is_looked_at_after_the_conclusion_is_no_part_of_the_audit() -> None:
    street = Street(EVERY, known=served())
    street.background.clear()
    await street.pass_by(7, frames=30)  # it is known at the first look, and was checked since
    street.background.set()
    await street.frame([])
    assert (street.plan.audits, street.asked("big", background=True)) == (1, 1)


async def test_looks_of_a_frame_that_failed_are_left_out_of_both_answers() -> None:
    street = Street(EVERY, known=served())
    street.sure = {"small": 1.5, "big": 1.5}
    street.node.published = lambda frame: None  # type: ignore[method-assign]
    await street.frame([7])
    street.node.dropped(make_frame(0).header.id)
    del street.node.published
    await street.pass_by(7, frames=20)
    await street.empty()
    assert (street.plan.audits, street.plan.given_up) == (1, 0)
    assert street.asked("big", background=True) == LOOK_RULE.most_looks - 1


async def test_one_failure_costs_its_own_look_alone() -> None:
    street = Street(EVERY, known=served())
    say, failed = street._say, list[str]()

    def broken_once(model: str, *rest: object) -> object:
        if model == "big" and not failed:
            failed.append(model)
            raise MemoryError
        return say(model, *rest)  # type: ignore[arg-type]

    street._say = broken_once  # type: ignore[assignment, method-assign]
    for track in range(3):
        assert await street.pass_by(track) == "blue"
    await street.empty()
    assert (street.plan.audits, street.plan.given_up) == (2, 1)


async def test_what_is_known_moves_to_another_worker() -> None:
    street, other = Street(Rule(0.5)), Street(Rule(0.5))
    for track in range(10):
        await street.pass_by(track, frames=30)
    await street.empty()
    known = street.node.snapshot("cam")
    assert known
    other.node.restore("cam", known)
    (region,) = await other.frame([1])
    assert region.attributes[0].looked == "variant"
    assert other.plan.agreement == street.plan.agreement
    assert other.plan.names_lost is not None
    assert street.plan.names_lost is not None
    assert other.plan.names_lost.lost == street.plan.names_lost.lost


async def test_without_tracks_a_look_is_compared_with_a_look_at_the_same_picture() -> None:
    street = Street(Rule(0.5), per_track=False)
    for _ in range(10):
        assert street.node.plans() == {} or street.plan.phase == "shadow"
        await street.frame([None])
    assert (street.plan.phase, street.plan.audits) == ("trusted", 10)
    assert street.asked("small", background=True) == 10
    assert street.asked("big", background=True) == 0
    (region,) = await street.frame([None])
    assert region.attributes[0].provenance == "variant"
    assert street.disagreements() == []


@pytest.mark.parametrize("known", [None, served()])
async def test_without_tracks_both_answers_to_one_picture_are_told(known: AuditState | None) -> None:
    street = Street(EVERY, per_track=False, known=known)
    street.small = {3: "red"}
    await street.frame([None], shade=3)
    (found,) = street.disagreements()
    assert (found.track_id, found.in_shadow) == (None, known is None)
    assert min(found.shortcut.found[0].confidence, found.oracle.found[0].confidence) > 0.5


async def test_where_nobody_may_disagree_the_oracle_names_all_objects() -> None:
    street = Street(Rule(1.0))
    for track in range(3):
        assert await street.pass_by(track) == "blue"
    await street.empty()
    assert (street.plan.phase, street.plan.answers, street.plan.shortcut_share) == ("off", 3, 0.0)
