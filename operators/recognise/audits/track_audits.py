"""The audits of tracked objects: one trial a track, pooled looks against pooled looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cache_adapt.audit.audit import Ticket
from cache_adapt.audit.coin import coin
from operators.background import PendingLook
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.audits.bench import Bench, Turns, is_in_shadow
from operators.recognise.audits.moments import TrialMoments
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.open_trials import OpenTrials
from operators.recognise.audits.shadow import Question
from operators.recognise.audits.trial import Trial
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.objects import Objects
from operators.recognise.objects.pool import Look, Pool
from operators.recognise.objects.sight import cut_off
from operators.recognise.shortcuts.shortcut import AuditOutcome, Overheard, Shortcut
from operators.wire.schema import Attribute
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class _LookUnderWay:
    """A look by the other network that is under way."""

    stream: NodeStream
    trials: OpenTrials
    """Those of the run in which it was begun."""
    trial: Trial
    weight: float


class TrackAudits:
    """Opens trials, has the other network look at random moments, and tells the audits both conclusions."""

    def __init__(self, bench: Bench, objects: Objects) -> None:
        self._bench, self._objects = bench, objects

    def account(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], turns: Turns, call: Call) -> None:
        """Open trials about objects that a shortcut answers for, or would if it were not in the shadow.

        Looks at what the tracker has not confirmed are no trials: the object will have one.
        """
        tracked = [region for region in regions if region.track_id is not None]
        for region in tracked:
            if stream.second_thoughts.awaits(_track(region)):
                self._think_again(stream, frame, region)
        new = [region for region in tracked if stream.trials.is_new(_track(region))]
        for link, turn in turns:
            for region in turn.answered:
                if region.track_id is not None and stream.trials.counts(region.track_id, link.key):
                    self._draw(stream, frame, link, region.track_id, turn.token)
            for heard in turn.overheard if link.within is not None else ():
                self._hear(stream, frame, link, heard, any(heard.region is region for region in new))
            if is_in_shadow(stream, link, call):
                for region in new:
                    if region.attributes[-1].provenance == "oracle" and stream.trials.has_room:
                        stream.trials.open(_track(region), self._trial(stream, frame, link, _track(region), None))

    def watch(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], links: Sequence[Shortcut], call: Call
    ) -> None:
        """Have the other network look at objects of the frame, whether or not the answering one has looked."""
        for region in regions:
            trials = stream.trials.of(region.track_id) if region.track_id is not None else ()
            for trial in trials:
                link = next(each for each in links if each.key == trial.key)
                room = not trial.shadow or (self._bench.can_shadow(frame, link) and link.may_prove_itself(call))
                room = room and (trial.heard is None or self._bench.can_audit(kept=1))
                if room and trial.wants(stream.trials.now_s, not cut_off(region.box)):
                    trial.pending += 1
                    asked = _LookUnderWay(stream, stream.trials, trial, self._objects.weight(frame, region))
                    self._ask(asked, frame, region, link, call)
        self._conclude(stream, stream.trials)

    def concluded(self, stream: NodeStream, answer: ObjectAnswer) -> None:
        """Take what was published of an object."""
        for trial in stream.trials.of(answer.track_id):
            trial.answer = trial.answer or answer
        for key, audit in stream.audits.opened.items():
            if not stream.trials.has_counted(answer.track_id, key):
                audit.by_oracle()
        stream.second_thoughts.concluded(answer)

    def end(self, stream: NodeStream) -> None:
        """Note that the run is over: no more looks will be begun."""
        stream.trials.close()
        self._conclude(stream, stream.trials)

    def _conclude(self, stream: NodeStream, trials: OpenTrials) -> None:
        """Compare where nothing more is to be waited for."""
        for trial in trials.done():
            if trial.ticket is None:
                continue  # the shortcut had nothing to say of the object
            if not trial.can_be_compared:
                stream.audits.of(trial.key).give_up()
                continue
            if trial.agrees is None:
                stream.audits.of(trial.key).tell(trial.ticket, None)
                continue
            crop = None if trial.shadow else trial.crop
            said = trial.agrees, trial.word, crop, trial.token
            outcome = AuditOutcome(stream.name, trial.kind, *said, trial.key, trial.evidence)
            self._bench.tell(stream, trial.ticket, outcome)

    def _think_again(self, stream: NodeStream, frame: Frame, region: Region) -> None:
        look = self._objects.look(frame, region, region.attributes[-1])
        agrees = stream.second_thoughts.looked(_track(region), look)
        if agrees is not None:
            stream.audits.self_agreement.tell(agrees)

    def _draw(self, stream: NodeStream, frame: Frame, link: Shortcut, track: int, token: object) -> None:
        room = self._bench.can_audit() and stream.trials.has_room
        chance = coin(self._bench.node, link.key, frame.stream, frame.run, track)
        ticket = stream.audits.of(link.key).by_shortcut(chance, room)
        if ticket is not None:
            trial = self._trial(stream, frame, link, track, ticket)
            trial.token = token
            stream.trials.open(track, trial)

    def _hear(self, stream: NodeStream, frame: Frame, link: Shortcut, heard: Overheard, is_new: bool) -> None:
        """Note what a shortcut would have said at a look of the one in whose network it sits."""
        track = heard.region.track_id
        if track is None:
            return
        if is_new and self._bench.can_audit(kept=1) and stream.trials.has_room:
            trial = self._trial(stream, frame, link, track, None)
            trial.shadow, trial.heard = False, Pool(self._objects.words, LOOK_RULE.correlation)
            stream.trials.open(track, trial)
        for trial in stream.trials.of(track):
            if trial.key == link.key and trial.heard is not None:
                said = heard.said or heard.region.attributes[-1]
                trial.heard_look(self._objects.look(frame, heard.region, said))
                if heard.said is not None and trial.ticket is None:
                    trial.ticket, trial.token = stream.audits.of(link.key).in_shadow(), heard.token

    def _trial(self, stream: NodeStream, frame: Frame, link: Shortcut, track: int, ticket: Ticket | None) -> Trial:
        who = self._bench.node, link.key, frame.stream, frame.run, track
        chances = [coin(*who, look) for look in range(LOOK_RULE.most_looks)]
        now_s = stream.trials.now_s
        pool = Pool(self._objects.words, LOOK_RULE.correlation)
        return Trial(link.kind, ticket is None, TrialMoments(chances), pool, now_s, now_s, ticket, key=link.key)

    def _ask(self, asked: _LookUnderWay, frame: Frame, region: Region, link: Shortcut, call: Call) -> None:
        crop = asked.trial.crop = self._bench.oracle.crops(frame, [region])[0].copy()
        if asked.trial.shadow:
            self._bench.shadow.hold(link, frame, [Question(region, partial(self._said_in_shadow, asked))], call)
            return
        seen = partial(self._seen, asked)
        look: PendingLook[Image, Attribute] = PendingLook(crop, seen, partial(seen, None))
        self._bench.backlog.hold(frame.header.id, [look])

    def _said_in_shadow(self, asked: _LookUnderWay, said: Attribute | None, token: object) -> None:
        """In the shadow: what the shortcut passes on is no look of its own."""
        trial = asked.trial
        if said is not None and trial.ticket is None:
            trial.ticket, trial.token = asked.stream.audits.of(trial.key).in_shadow(), token
        self._seen(asked, said)

    def _seen(self, asked: _LookUnderWay, said: Attribute | None) -> None:
        """Take a look by the other network; None: it was not made."""
        asked.trial.pending -= 1
        if said is not None and not asked.trial.shadow:
            self._bench.looked_again(asked.stream)
        if said is not None:
            asked.trial.looked(Look(said, self._bench.oracle.certainty(said), asked.weight))
        self._conclude(asked.stream, asked.trials)


def _track(region: Region) -> int:
    assert region.track_id is not None
    return region.track_id
