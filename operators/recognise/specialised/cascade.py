"""The specialised cascade of one stream: the algorithm that drives it, and its heads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from operators.recognise.account.demand import Demand
from operators.recognise.shortcuts.shortcut import Standing
from operators.recognise.specialised.cascade_state import CascadeState
from operators.recognise.specialised.earnings import Earnings
from operators.recognise.specialised.head_seen import HeadSeen
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.kept_heads import KeptHeads
from operators.recognise.specialised.makers import Trained
from serving.errors import SluiceError
from specialization.heads.head import SpecialisedHead
from specialization.weg.algorithm import Weg
from specialization.weg.state import Head

CUT_AFTER = 60
"""Looks of a head in service after which it is known what share of them it passes on."""

log = logging.getLogger(__name__)

Classes = tuple[str, ...]
"""Names of dominant classes."""


class InUse(NamedTuple):
    """The head that answers."""

    number: int
    template: str
    head: SpecialisedHead


class Cascade:
    """Feeds WEG with a stream's answers, and trains the heads that it asks for; meanwhile the oracle answers."""

    def __init__(
        self,
        name: str,
        stream: str,
        supply: HeadSupply,
        changed: Callable[[], None],
        trained: Callable[[Classes, bool], None],
    ) -> None:
        """``name``: for log lines.

        ``changed`` is called when a head begins or ceases to answer; ``trained`` with the classes of every head that
        was trained, and whether it is used.
        """
        self.strictness = 0
        """Number of times that heads agreed too seldom; each time later heads may err half as often."""
        self._name, self._stream, self._supply = name, stream, supply
        self._changed, self._trained = changed, trained
        self._labels = supply.labels
        self._ledger, self.demand = supply.books.of(stream), Demand()
        self._earnings = Earnings()
        self.hopeful = True
        """Whether heads can pay, as far as is known."""
        self._reason: str | None = None
        self._heads = KeptHeads(name)
        self._seen = HeadSeen()
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self.weg = Weg(supply.rules(0))

    @property
    def in_use(self) -> InUse | None:
        """The head that answers; None if the oracle does."""
        head = self.weg.state.head
        if head is None:
            return None
        return InUse(head.number, head.target.template, self._heads[head.number])

    @property
    def epoch(self) -> int:
        """Number of times that the stream's content was found to have changed."""
        return self.weg.state.epoch

    def classes(self) -> tuple[str, ...]:
        """The classes that the head in use knows."""
        head = self.weg.state.head
        return self._labels.named(head.target.classes) if head else ()

    def standing(self) -> Standing:
        """The phase, the head in use, and the figures by which it was chosen."""
        state = self.weg.state
        template = state.head.target.template if state.head else None
        seconds, reason = self._ledger.seconds, None if state.head else self._reason
        return Standing(state.phase, state.epoch, template, self.classes(), len(state.previous), seconds, reason)

    def explain(self) -> None:
        """Find out anew whether heads can pay, and why none answers."""
        hopeless = self._supply.why_not(self.demand.looks_per_hour, self.strictness)
        self.hopeful = hopeless is None
        self._reason = hopeless or (None if self.weg.state.known else self._supply.waits_for())

    def cut_where_due(self) -> None:
        """Have the oracle go on where the head in use reads, if it has passed on so much that this pays."""
        head, looks_per_hour = self.weg.state.head, self.demand.looks_per_hour
        if head is None or looks_per_hour is None:
            return
        seen = self._seen.of(head.number, ())
        if seen.asked >= CUT_AFTER:
            passed = 1 - seen.answered / seen.asked
            self._supply.cut_where_due(head.target.template, passed, looks_per_hour, self._ledger)

    def answered(self, used: InUse | None, said: str, by_head: bool, unseen: bool = False) -> None:
        """Take an object's answer: of the head that was ``used``, or of the oracle, alone or after "other".

        ``unseen``: the head is in the shadow, and the oracle has answered.
        """
        label = self._labels.number(said)
        if label is None:
            return  # a variant's label that the oracle does not know
        nameless = said in self._labels.nameless
        self._earnings.saw(named=not nameless)
        if nameless:
            return  # it tells nothing of the classes that the stream shows
        self.weg.rules = self._supply.rules(self.strictness, self._may_train())
        knows = unseen and said in self.classes()
        if used is None:
            self.weg.oracle_answered(label)
        else:
            self._log_departure(self.weg.cascade_answered(used.number, label, by_head or knows, unseen))
        self._follow()

    def asked(self, used: InUse, objects: int, answered: int) -> None:
        """Note how many of these objects the head that was ``used`` has answered for."""
        head = self.weg.state.head
        if head and head.number == used.number:
            self._seen.asked(head, used.head.rates, objects, answered)

    def looked(self, used: InUse, avoided_s: float, own_s: float) -> None:
        """Note what the head that was ``used`` has spared the oracle, and cost; it is left where it does not pay."""
        head = self.weg.state.head
        if (
            head
            and head.number == used.number
            and self._earnings.looked(avoided_s, own_s, self._supply.features.oracle_s)
        ):
            self.weg.head_failed(used.number)
            self._log_departure("it costs more than it saves")
            self._follow()

    def audited(self, number: int, agrees: bool) -> None:
        """Take an audit of a head's answer by the oracle."""
        self._seen.audited(number, agrees)
        self._log_departure(self.weg.audited(number, agrees))
        self._follow()

    def distrust(self) -> None:
        """Drop all heads, which agree too seldom with the oracle, and demand more of later ones."""
        state = self.weg.state
        unwanted = [*state.known, state.wanted] if state.wanted else list(state.known)
        self.strictness += bool(unwanted)
        for head in unwanted:
            self.weg.head_failed(head.number)
        self._follow()

    def renew(self) -> None:
        """Use a later version of the head in use, if one has come; it has to prove itself like any other."""
        head = self.weg.state.head
        if head is None:
            return
        newer = self._supply.newer(head, self.strictness, self._stream, self._heads.version(head.number))
        if newer is not None:
            number = self.weg.head_renewed(head.number, newer.head.rates)
            self._heads.put(number, newer)
            self._forget_all_but_known()
            classes = self._labels.named(head.target.classes)
            log.info("%s: version %d of the head for %s takes its place", self._name, newer.version, classes)
            self._changed()

    def report(self) -> None:
        """Tell who makes heads that the one in use, or wanted, is wanted still, and what was seen of it."""
        state = self.weg.state
        if head := state.wanted or state.head:
            seen = self._seen.of(head.number, state.answers)
            self._supply.report(head, self.strictness, self._stream, self._heads.version(head.number), seen)

    def misfits(self, used: InUse) -> None:
        """Drop a head that is for another network, wherever it was trained."""
        log.warning("%s: a head is dropped: it does not fit the network %s", self._name, used.template)
        self.weg.head_failed(used.number)
        self._follow()
        self._changed()

    async def settled(self) -> None:
        """Return when nothing is being trained."""
        while self._jobs:
            await asyncio.wait(self._jobs.values())

    def close(self) -> None:
        """Stop waiting for heads."""
        for job in self._jobs.values():
            job.cancel()

    def state(self) -> CascadeState:
        """Return the state with which another worker can go on."""
        known = [head for head in self.weg.state.known if head.number in self._heads]
        return CascadeState(
            self.weg.state,
            self._heads.to_bytes(head.number for head in known),
            {head.target.template: self._supply.features.identity(head.target.template) for head in known},
            self._labels.digest,
            self.strictness,
            self._earnings,
            self._ledger.seconds,
            self._heads.versions(),
        )

    def restore(self, state: CascadeState) -> None:
        """Restore a state; heads that are damaged or belong to another network are asked for anew.

        Where classes have other names now, as after an identity was enrolled, nothing that was known holds.
        """
        if state.labels != self._labels.digest:
            return
        self.strictness = state.strictness
        self._earnings = state.earnings
        fitting = [head.number for head in state.weg.known if self._fits(head, state)]
        self._heads.restore({number: state.heads.get(number, b"") for number in fitting}, state.versions)
        self.weg = Weg(self._supply.rules(self.strictness), state.weg)
        lost = [head for head in (*state.weg.known, state.weg.head) if head and head.number not in self._heads]
        for head in lost:
            self.weg.head_failed(head.number)

    def _fits(self, head: Head, state: CascadeState) -> bool:
        template = head.target.template
        fits = self._supply.fits(template, state.networks.get(template))
        if not fits:
            log.info("%s: head %d is not used: its networks, or their input, have changed", self._name, head.number)
        return fits

    def _follow(self) -> None:
        """Train the wanted head, once, and keep no weights that are no longer needed."""
        wanted = self.weg.state.wanted
        if wanted and not self._supply.worth_it(wanted.target, None, self.strictness, self._earnings.named):
            self.weg.head_failed(wanted.number)
            self._earnings.failed()
        elif wanted and wanted.number not in self._jobs:
            self._jobs[wanted.number] = asyncio.create_task(self._train(wanted))
        self._forget_all_but_known()

    def _forget_all_but_known(self) -> None:
        self._heads.leave_only({head.number for head in self.weg.state.known})

    async def _train(self, wanted: Head) -> None:
        before_s = self._ledger.seconds.training
        try:
            trained = await self._supply.train(wanted, self.strictness, self._ledger, self._stream)
        except SluiceError as error:
            log.info("%s: no head for %s: %s", self._name, self._labels.named(wanted.target.classes), error)
            self.weg.head_failed(wanted.number)
            self._earnings.failed()
        else:
            self._arrived(wanted, trained, self._ledger.seconds.training - before_s)
        finally:
            del self._jobs[wanted.number]
        self._follow()
        self._changed()

    def _arrived(self, wanted: Head, trained: Trained, price_s: float) -> None:
        """Use the head, unless its validation shows that it does not serve."""
        head, classes = trained.head, self._labels.named(wanted.target.classes)
        serves = self._supply.worth_it(wanted.target, head.rates, self.strictness, self._earnings.named)
        self._trained(classes, serves)
        if not serves:
            log.info("%s: a head for %s would not serve", self._name, classes)
            self.weg.head_failed(wanted.number)
            self._earnings.failed()
            return
        self._earnings.arrived(price_s)
        self._heads.put(wanted.number, trained)
        self.weg.head_arrived(wanted.number, head.rates)

    def _log_departure(self, why: str | None) -> None:
        if why:
            log.info("%s: a head is dropped: %s", self._name, why)
            self._earnings.left()
            self._changed()

    def _may_train(self) -> bool:
        return self.hopeful and self._earnings.may_try and self._supply.may_train()
