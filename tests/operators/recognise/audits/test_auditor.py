"""Audits of looks whose answer by exits and by the network's end come from one run: no second network is asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cache_adapt.audit.coin import coin
from cache_adapt.audit.state import AuditState, Rule
from learning.budget import unlimited
from operators.audits.roles import Roles
from operators.audits.streams import StreamAudits
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Frame, Region
from operators.recognise.audits.auditor import Auditor
from operators.recognise.audits.comparing import AuditOutcome
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.second_looks import CropLooks
from operators.recognise.audits.trial import AuditedLook
from operators.recognise.classifier import Classifier
from operators.recognise.objects.objects import Objects
from operators.recognise.objects.pool import ObjectAnswer
from operators.recognise.objects.scenes import Scenes
from operators.testing import FakeEngine, card_of, make_frame, make_region
from operators.wire.schema import Attribute, Phase
from tests.operators.recognise.objects.looks import look

KEY = "cached"


class Node:
    """An auditor of one shortcut, and a stream on which it stands as a test wants."""

    def __init__(self, phase: Phase = "probation", per_track: bool = False, rate: float = 0.4) -> None:
        engine = FakeEngine(big=(card_of("big", min_confidence=0.5), lambda batch: [batch]))
        recogniser = Classifier(engine, Roles.of(["big"], engine.card), "paint")
        second = CropLooks(recogniser, UnitCosts(engine), unlimited())
        self.objects = Objects(recogniser) if per_track else None
        self.auditor = Auditor("type", recogniser, second, [KEY], self._on_outcome, self.objects)
        self.stream = NodeStream("cam", StreamAudits(Rule(0.9, rate=rate, probation_rate=rate)), None)
        self.stream.audits.restore({KEY: AuditState(phase=phase, edition=1)})
        self.outcomes: list[AuditOutcome] = []

    def _on_outcome(self, stream: NodeStream, outcome: AuditOutcome) -> None:
        self.outcomes.append(outcome)

    @property
    def state(self) -> AuditState:
        return self.stream.audits.of(KEY).state

    def frame(self, seq: int, tracks: Sequence[int | None] = (None,), x: float = 0.3) -> tuple[Frame, list[Region]]:
        frame = make_frame(seq, seq / 10, np.full((100, 100, 3), 7, np.uint8))
        if self.objects is not None:
            self.auditor.begin(self.stream, frame)
        return frame, [make_region(x, 0.2, id=number, track_id=track) for number, track in enumerate(tracks)]

    def drawn(self, frame: Frame, regions: Sequence[Region]) -> list[bool]:
        return [self.auditor.draws(self.stream, KEY, frame, region) for region in regions]

    def looked(self, frame: Frame, region: Region, said: str | None, end: str | None, number: int = 1) -> None:
        both = said_of(said), said_of(end)
        self.auditor.looked(self.stream, KEY, [AuditedLook(frame, region, *both, number)])

    def concluded(self, track: int) -> None:
        """The object is known, and the frame is over."""
        assert self.objects is not None
        pool = self.objects.new_pool(whole=True)
        pool.add(look())
        self.auditor.concluded(self.stream, ObjectAnswer(track, pool.belief(), 1, True, {"oracle": 1}))


def said_of(word: str | None) -> Attribute | None:
    return None if word is None else look(word, 0.9).said


def test_all_looks_at_a_track_are_in_one_part_and_those_without_take_turns() -> None:
    node = Node()
    tracks = list(range(300))
    first, again = (node.auditor.parts(*node.frame(seq, tracks), 3).tolist() for seq in (0, 700))
    assert first == again
    assert all(60 < first.count(part) < 140 for part in range(3))
    turns = [node.auditor.parts(*node.frame(int(10 * at_s), [None, None]), 3).tolist() for at_s in (0, 19, 20, 41, 60)]
    assert turns == [[0, 0], [0, 0], [1, 1], [2, 2], [0, 0]]


def test_scenes_take_turns_though_they_have_numbers() -> None:
    node = Node(per_track=True)
    node.auditor._objects = Scenes(node.auditor._recogniser)
    parts = [node.auditor.parts(*node.frame(seq, [seq // 3]), 3).tolist() for seq in range(0, 400, 5)]
    assert parts == [[0]] * 40 + [[1]] * 40


def test_looks_are_drawn_by_who_is_looked_at() -> None:
    node = Node()
    for seq in range(50):
        frame, regions = node.frame(seq, [None, None])
        expected = [coin("type", KEY, "cam", "run-1", seq, region.id) < 0.4 for region in regions]
        assert node.drawn(frame, regions) == expected == node.drawn(frame, regions)


def test_a_drawn_look_is_compared_and_every_answer_counts_once() -> None:
    node = Node()
    frame, (region,) = node.frame(0)
    node.looked(frame, region, "car", "car")  # drawn, and both agree
    node.looked(frame, region, "car", "bus")  # drawn
    node.looked(frame, region, "car", None)  # it has left
    node.looked(frame, region, None, "bus")  # the exits were not sure
    state = node.state
    assert (state.by_shortcut, state.by_oracle, state.audits) == (3, 1, 2)
    assert [(each.agrees, each.lost, each.number) for each in node.outcomes] == [(True, False, 1), (False, True, 1)]
    lost = node.outcomes[1]
    assert (lost.shadow, lost.track) == (False, None)
    assert lost.picture is not None
    assert (lost.picture == 7).all()


def test_in_the_shadow_every_look_is_an_answer_of_the_oracle_and_an_audit_where_exits_were_sure() -> None:
    node = Node("shadow")
    frame, (region,) = node.frame(0)
    for said in ("car", "bus", None):
        node.looked(frame, region, said, "car")
    state = node.state
    assert (state.by_shortcut, state.by_oracle, state.audits, state.recent.elder.objects) == (0, 3, 2, 2)
    assert (state.recent.elder.named, state.recent.elder.others) == (2, 1)
    assert [each.agrees for each in node.outcomes] == [True, False]


def test_looks_below_the_least_confidence_say_unknown_and_are_compared_as_such() -> None:
    node = Node()
    frame, (region,) = node.frame(0)
    unsure, other = look("car", 0.4).said, look("bus", 0.3).said
    node.auditor.looked(node.stream, KEY, [AuditedLook(frame, region, unsure, other, 1)])
    node.auditor.looked(node.stream, KEY, [AuditedLook(frame, region, unsure, look("car", 0.9).said, 1)])
    assert [(each.agrees, each.lost) for each in node.outcomes] == [(True, None), (False, True)]


def test_a_track_is_drawn_at_its_first_look_or_never() -> None:
    node = Node(per_track=True)
    drawn = {track: coin("type", KEY, "cam", "run-1", track) < 0.4 for track in range(40)}
    assert 5 < sum(drawn.values()) < 30
    for seq in range(4):
        frame, regions = node.frame(seq, list(drawn))
        assert node.drawn(frame, regions) == list(drawn.values())
        node.stream.audits.of(KEY).rule = Rule(0.9, rate=1.0, probation_rate=1.0)


def test_all_looks_at_a_drawn_track_run_on_until_it_has_its_conclusion() -> None:
    node = Node(per_track=True, rate=1.0)
    for seq, (said, end) in enumerate((("car", "car"), ("bus", "car"), ("car", "car"))):
        frame, (region,) = node.frame(seq, [7])
        assert node.drawn(frame, [region]) == [True]
        node.looked(frame, region, said, end)
    assert node.state.audits == 0
    node.concluded(7)
    (outcome,) = node.outcomes
    assert (outcome.agrees, node.state.by_shortcut, node.state.by_oracle) == (True, 1, 0)
    frame, (region,) = node.frame(3, [7])
    assert node.drawn(frame, [region]) == [False]
    node.looked(frame, region, "car", None)
    assert (node.state.by_shortcut, node.state.audits) == (1, 1), "it is counted once"


def test_a_look_that_exits_pass_on_has_the_ends_answer_in_both_pools() -> None:
    node = Node(per_track=True, rate=1.0)
    for seq, (said, end) in enumerate((("bus", "car"), (None, "car"), (None, "car"))):
        frame, (region,) = node.frame(seq, [7])
        node.drawn(frame, [region])
        node.looked(frame, region, said, end)
    node.concluded(7)
    (outcome,) = node.outcomes
    assert outcome.agrees, "two of three looks are the end's, in service as here"


@pytest.mark.parametrize("phase", ["probation", "shadow"])
def test_a_track_of_which_exits_say_nothing_is_no_audit_but_an_answer_of_the_oracle(phase: Phase) -> None:
    node = Node(phase, per_track=True, rate=1.0)
    frame, (region,) = node.frame(0, [7])
    node.drawn(frame, [region])
    node.looked(frame, region, None, "car")
    node.concluded(7)
    assert (node.outcomes, node.state.by_shortcut, node.state.by_oracle) == ([], 0, 1)
    assert (node.state.audits, node.state.given_up) == (0, 0)
    assert (node.state.recent.elder.named, node.state.recent.elder.others) == (0, 1)


def test_in_the_shadow_a_track_is_one_audit_of_all_its_looks() -> None:
    node = Node("shadow", per_track=True)
    for seq, said in enumerate(("bus", "bus", "car")):
        frame, (region,) = node.frame(seq, [7])
        node.looked(frame, region, said, "car")
    node.concluded(7)
    (outcome,) = node.outcomes
    assert (outcome.agrees, outcome.number) == (False, 1)
    assert (outcome.shadow, outcome.track) == (True, 7)
    assert (node.state.audits, node.state.recent.elder.objects, node.state.by_oracle) == (1, 1, 1)
    assert (node.state.recent.elder.named, node.state.recent.elder.others) == (1, 0), "its name counts once"


@pytest.mark.parametrize("per_track", [False, True])
def test_a_look_that_others_have_answered_than_those_in_use_now_is_not_counted(per_track: bool) -> None:
    node = Node("shadow", per_track=per_track)
    frame, (region,) = node.frame(0, [7])
    node.looked(frame, region, "bus", "car", number=0)
    assert (node.outcomes, node.state.by_oracle, node.state.recent.elder.objects) == ([], 0, 0)


@pytest.mark.parametrize("phase", ["probation", "shadow"])
def test_looks_at_what_has_no_track_are_neither_drawn_nor_counted(phase: Phase) -> None:
    node = Node(phase, per_track=True, rate=1.0)
    frame, (region,) = node.frame(0, [None])
    assert node.drawn(frame, [region]) == [False]
    node.looked(frame, region, "car", "bus")
    assert (node.outcomes, node.state.by_shortcut, node.state.by_oracle) == ([], 0, 0)


def test_a_new_run_has_other_tracks() -> None:
    node = Node(per_track=True, rate=1.0)
    frame, (region,) = node.frame(0, [7])
    node.drawn(frame, [region])
    node.looked(frame, region, "car", "car")
    node.auditor.begin(node.stream, make_frame(0, run="run-2"))
    assert node.state.audits == 1
    assert not node.stream.trials.has_answered(7, KEY)
