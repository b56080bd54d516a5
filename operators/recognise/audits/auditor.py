"""The audits of one node: which looks are made twice, both answers of them, and the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from cache_adapt.audit.audit import Ticket
from cache_adapt.audit.coin import coin
from operators.frames.frame import Frame, Region
from operators.recognise.audits.comparing import Compared
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.second_looks import ModelCrop, SecondLooks
from operators.recognise.audits.trial import Trial
from operators.recognise.audits.trials import OpenTrials
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.objects import Objects
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcut import AuditOutcome
from operators.wire.schema import Attribute, FrameId
from serving.common.tensors import Image

OnOutcome = Callable[[NodeStream, AuditOutcome], None]
"""Called with the stream as it was when the object was answered for."""


@dataclass(frozen=True, slots=True)
class AuditedLook:
    """A look as a shortcut and the oracle have answered it."""

    frame: Frame
    region: Region
    said: Attribute | None
    """The shortcut's answer; None: it was silent, or has yet to look."""
    reference: Attribute | None
    """The oracle's; None: it was not asked, or has yet to look."""
    number: int = 0
    """The number of what the shortcut answers with."""


class Auditor:
    """One for a node. An object is a track where the node answers for tracks, else one look."""

    def __init__(
        self,
        node: str,
        recogniser: Recogniser,
        second: SecondLooks,
        keys: Sequence[str],
        on_outcome: OnOutcome,
        objects: Objects | None = None,
    ) -> None:
        """``keys``: of the shortcuts; ``objects``: the node answers for tracks."""
        self._node, self._recogniser, self._second = node, recogniser, second
        self._keys = keys
        self._on_outcome, self._objects = on_outcome, objects

    def begin(self, stream: NodeStream, frame: Frame) -> None:
        """Take a frame before it is looked at; a new run of the source has other tracks."""
        if stream.run != frame.run:
            self.end(stream)
            stream.run, stream.trials = frame.run, OpenTrials()
        stream.trials.frame(frame.media_time_s)
        self._conclude(stream, stream.trials)

    def draws(self, stream: NodeStream, key: str, frame: Frame, region: Region) -> bool:
        """Whether the oracle makes a look too that a shortcut in service may answer; asked before any answer."""
        chance, track = self._coin(key, frame, region), self._track(region)
        if track is None:
            return chance < stream.audits.of(key).rate
        if stream.trials.is_new(track, key) and chance < stream.audits.of(key).rate:
            self._open(stream, key, track, shadow=False)
        return stream.trials.of(track, key) is not None

    def looked(self, stream: NodeStream, key: str, looks: Sequence[AuditedLook]) -> None:
        """Take looks with both answers, as far as the oracle was asked."""
        shadow = not stream.audits.of(key).uses_shortcut
        for look in looks:
            if (track := self._track(look.region)) is not None:
                trial = self._counted(stream, key, track, look, shadow)
                if trial is not None:
                    self._add(stream, trial, look)
                continue
            audit = stream.audits.of(key)
            if look.said is None:
                audit.by_oracle()
                continue
            ticket = audit.in_shadow() if shadow else audit.by_shortcut(float(look.reference is None))
            self._compare_look(stream, key, ticket, look, shadow)

    def silent(self, stream: NodeStream, key: str, looks: int) -> None:
        """Note looks for which a shortcut was not asked; tracks are counted once they are concluded."""
        if self._objects is None:
            stream.audits.of(key).by_oracle(looks)

    def asks(self, stream: NodeStream, key: str, looks: Sequence[AuditedLook], model: str) -> None:
        """Have a second network make some looks too, later: in the shadow the shortcut's, in service the oracle."""
        shadow = not stream.audits.of(key).uses_shortcut
        for look in looks:
            room, track, ticket = self._second.has_room(model), self._track(look.region), None
            audit, trial = stream.audits.of(key), None
            if track is not None:
                if not shadow and room:
                    self.draws(stream, key, look.frame, look.region)
                trial = self._counted(stream, key, track, look, shadow and room)
                asked = room and trial is not None
            elif shadow:
                asked = room
                audit.by_oracle()
            else:
                ticket = audit.by_shortcut(self._coin(key, look.frame, look.region), room)
                asked = ticket is not None
            if asked:
                self._ask(_Asked(stream, key, look, shadow, stream.trials, trial, ticket), model)

    def concluded(self, stream: NodeStream, answer: ObjectAnswer) -> None:
        """Take what was published of an object."""
        stream.trials.concluded(answer.track_id)
        for key in self._keys:
            if not stream.trials.has_answered(answer.track_id, key):
                stream.audits.of(key).by_oracle()
        self._conclude(stream, stream.trials)

    def end(self, stream: NodeStream) -> None:
        """Note that a run is over: no more looks will be begun."""
        stream.trials.close()
        self._conclude(stream, stream.trials)

    def published(self, frame: FrameId) -> None:
        """Begin second looks at a frame: its result has been published."""
        self._second.published(frame)

    def dropped(self, frame: FrameId) -> None:
        """Make no second looks at a frame that was dropped or failed."""
        self._second.dropped(frame)

    def forget(self, stream: str) -> None:
        """Make no second looks at frames of a stream that are not published yet."""
        self._second.forget(stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting looks within the time, and give up the rest."""
        await self._second.close(within_s)

    def _ask(self, asked: _Asked, model: str) -> None:
        look = asked.look
        crop = self._recogniser.crops(model, look.frame, [look.region])[0].copy()
        if asked.trial is not None:
            asked.trial.pending += 1
        self._second.hold(look.frame.header.id, ModelCrop(model, crop), partial(self._seen, asked, crop))

    def _seen(self, asked: _Asked, crop: Image, seen: Attribute | None) -> None:
        """Take the look of the second network; None: it was given up."""
        look, stream = asked.look, asked.stream
        said, reference = (seen, look.reference) if asked.shadow else (look.said, seen)
        both = AuditedLook(look.frame, look.region, said, reference, look.number)
        if seen is None and asked.ticket is not None:
            stream.audits.of(asked.key).give_up()
        elif seen is not None and asked.trial is not None:
            self._add(stream, asked.trial, both, crop)
        elif seen is not None:
            ticket = asked.ticket or stream.audits.of(asked.key).in_shadow()
            self._compare_look(stream, asked.key, ticket, both, asked.shadow, crop)
        if not asked.shadow and seen is not None:
            stream.count(audits=1)
        if asked.trial is not None:
            asked.trial.pending -= 1
            self._conclude(stream, asked.trials)

    def _counted(self, stream: NodeStream, key: str, track: int, look: AuditedLook, opens: bool) -> Trial | None:
        """The trial about a track; in the shadow it is opened at the first look, in service by ``draws``.

        What a shortcut in service answers for is counted once.
        """
        trials = stream.trials
        if opens and trials.is_new(track, key):
            self._open(stream, key, track, shadow=True)
        trial = trials.of(track, key)
        if stream.audits.of(key).uses_shortcut and look.said is not None and trials.answers_first(track, key):
            possible = trial is not None or trials.has_room
            ticket = stream.audits.of(key).by_shortcut(float(trial is None), possible)
            if trial is not None:
                trial.ticket, trial.token = ticket, look.number
        return trial

    def _add(self, stream: NodeStream, trial: Trial, look: AuditedLook, crop: Image | None = None) -> None:
        """Take a look of a trial that has both answers; a silent shortcut's answer is the oracle's."""
        if look.reference is None or self._objects is None:
            return
        said, frame, region = look.said or look.reference, look.frame, look.region
        trial.looked(self._objects.look(frame, region, said), self._objects.look(frame, region, look.reference))
        if trial.shadow and trial.ticket is None and look.said is not None:
            trial.ticket, trial.token = stream.audits.of(trial.key).in_shadow(), look.number
        if trial.crop is None and said.label != look.reference.label:
            trial.crop = self._picture(frame, region) if crop is None else crop

    def _compare_look(
        self,
        stream: NodeStream,
        key: str,
        ticket: Ticket | None,
        look: AuditedLook,
        shadow: bool,
        crop: Image | None = None,
    ) -> None:
        """Compare the words that would be published of one look."""
        if ticket is None or look.said is None or look.reference is None:
            return
        found = Compared(self._recogniser.accepted(look.said), self._recogniser.accepted(look.reference), shadow)
        picture = None if found.agrees else (self._picture(look.frame, look.region) if crop is None else crop)
        found = Compared(found.said, found.reference, shadow, None, picture)
        self._tell(stream, key, ticket, found, look.number)

    def _conclude(self, stream: NodeStream, trials: OpenTrials) -> None:
        """Compare where nothing more is to be waited for."""
        for track, trial in trials.done():
            if trial.ticket is None or self._objects is None:
                continue  # the shortcut had nothing to say of the object
            if not trial.reference.looks:
                stream.audits.of(trial.key).give_up()
                continue
            said, reference = (self._objects.answer_of(each.belief()) for each in (trial.answered, trial.reference))
            found = Compared(said, reference, trial.shadow, track, trial.crop)
            self._tell(stream, trial.key, trial.ticket, found, trial.token)

    def _tell(self, stream: NodeStream, key: str, ticket: Ticket, found: Compared, token: object) -> None:
        outcome = found.outcome(stream.name, key, token)
        stream.audits.of(key).tell(ticket, outcome.agrees, outcome.lost)
        self._on_outcome(stream, outcome)

    def _open(self, stream: NodeStream, key: str, track: int, shadow: bool) -> None:
        if stream.trials.has_room and self._objects is not None:
            pools = self._objects.new_pool(), self._objects.new_pool()
            stream.trials.open(track, Trial(key, shadow, *pools, stream.trials.now_s))

    def _track(self, region: Region) -> int | None:
        """The object that a region shows; None where a look is an object by itself."""
        return None if self._objects is None else region.track_id

    def _coin(self, key: str, frame: Frame, region: Region) -> float:
        """Chance by who is looked at: the track, else the region of the frame."""
        track = self._track(region)
        who = (frame.seq, region.id) if track is None else (track,)
        return coin(self._node, key, frame.stream, frame.run, *who)

    def _picture(self, frame: Frame, region: Region) -> Image:
        return self._recogniser.crops(self._recogniser.roles.oracle, frame, [region])[0].copy()


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A look that a second network is asked for."""

    stream: NodeStream
    key: str
    look: AuditedLook
    shadow: bool
    trials: OpenTrials
    """Those of the run in which it was asked."""
    trial: Trial | None
    """None where the look is an object by itself."""
    ticket: Ticket | None
