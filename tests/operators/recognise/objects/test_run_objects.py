"""The objects of a run: what is concluded of each, once, and that they are bounded."""

from __future__ import annotations

import pytest

from operators.frames.frame import Box
from operators.recognise.objects import run_objects
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import ObjectAnswer
from operators.recognise.objects.run_objects import RunObjects
from tests.operators.recognise.objects.looks import box, look


def seen(
    objects: RunObjects, at_s: float, *tracks: int, certainty: float = 0.95, where: Box | None = None
) -> list[ObjectAnswer]:
    """One frame; returns the conclusions."""
    objects.frame(at_s)
    due = [track for track in tracks if objects.is_due(track, where or box())]
    found, objects.gone = objects.gone, []
    answers = [objects.look(track, look(certainty=certainty)) for track in due]
    return [*found, *filter(None, answers)]


def test_a_conclusion_is_told_once() -> None:
    objects = RunObjects(7)
    (answer,) = seen(objects, 0.0, 1)
    assert (answer.track_id, answer.belief.said.label, answer.looks, answer.sure) == (1, "car", 1, True)
    assert answer.looked == {"oracle": 1}
    assert [seen(objects, step / 10, 1) for step in range(1, 60)] == [[]] * 59
    assert objects.close() == []


def test_an_object_that_stays_unsure_is_concluded_with_its_fourth_look() -> None:
    objects = RunObjects(7)
    found = [answer for step in range(30) for answer in seen(objects, step / 10, 1, certainty=0.4)]
    assert [(answer.looks, answer.sure) for answer in found] == [(LOOK_RULE.most_looks, False)]


def test_a_track_that_ends_before_is_concluded_then() -> None:
    objects = RunObjects(7)
    assert seen(objects, 0.0, 1, certainty=0.4) == []
    assert seen(objects, LOOK_RULE.closed_after_s) == []
    (answer,) = seen(objects, LOOK_RULE.closed_after_s + 0.1)
    assert (answer.track_id, answer.looks, answer.sure) == (1, 1, False)
    assert seen(objects, 99.0) == []


def test_looks_at_a_part_are_concluded_before_the_whole_is_looked_at() -> None:
    objects, large = RunObjects(7), box(w=0.5, h=0.7)
    assert seen(objects, 0.0, 1, certainty=0.4) == []
    assert seen(objects, 0.2, 1, where=large) == []
    (part,) = seen(objects, 0.4, 1, where=large)
    assert (part.track_id, part.looks, part.sure) == (1, 1, False)
    whole = objects[1].pool
    assert whole is not None
    assert whole.looks == 1


def test_a_run_that_ends_concludes_all() -> None:
    objects = RunObjects(7)
    seen(objects, 0.0, 1, 2, certainty=0.4)
    assert [answer.track_id for answer in objects.close()] == [1, 2]
    assert objects.close() == []


def test_another_object_on_the_track_is_another_conclusion() -> None:
    objects, labels = RunObjects(7), []
    for step in range(90):
        objects.frame(step / 10)
        if objects.is_due(1, box()):
            answer = objects.look(1, look("car" if step < 30 else "truck", 0.95))
            labels += [answer.belief.said.label] if answer else []
    assert labels == ["car", "truck"]


def test_the_number_of_objects_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_objects, "REMEMBERED", 3)
    objects = RunObjects(7)
    seen(objects, 0.0, 1, 2, 3, 4, certainty=0.4)
    assert [answer.track_id for answer in seen(objects, 0.1, 2)] == [1]
    assert [answer.track_id for answer in objects.close()] == [3, 4, 2]


def test_a_clock_that_goes_back_or_jumps_does_no_harm() -> None:
    objects = RunObjects(7)
    times = (0.0, 100.0, 99.0, -1e8, -1e8 + 0.5, 3e8, 3e8 + 0.6)
    for at_s in times:
        seen(objects, at_s, 1)
        assert objects[1].belief is not None
