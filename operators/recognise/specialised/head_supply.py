"""Supplies the heads of a node: from templates for its oracle, samples, and a trainer; the node's purse pays."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence

from cache_adapt.adaptation.triggers import VersionUse
from cache_adapt.audit.state import Rule
from learning.purse import Expense
from operators.recognise.account.books import Books, Ledger
from operators.recognise.account.outlook import HORIZON_H, Outlook, waiting
from operators.recognise.specialised.head_prices import MOST_WINDOW, PROOF, HeadPrices
from operators.recognise.specialised.makers import HeadMaker, HeadWish, Trained
from operators.recognise.specialised.own_samples import NodeSamples
from serving.errors import ModelError, SluiceError
from specialization.rates import Rates
from specialization.templates import prospects
from specialization.templates.prospects import LEAST_ANSWERED, Prospect
from specialization.weg.adaptive import Adaptive, KnownHeadsOnly
from specialization.weg.config import WegConfig
from specialization.weg.state import Head, HeadTarget

log = logging.getLogger(__name__)

AUDITED = 0.03
"""Runs of the oracle for audits, as a share of a head's answers: one track in a hundred, looked at three times."""
PROVABLE = 0.75
"""Share of the allowed disagreement up to which a proof is to be had in reasonable time."""
SOUGHT_EVERY = 10
"""Objects of a stream from one search for a better head to the next."""
CUT_LOOKS = 100.0
"""First guess of what it takes to cut the oracle and load it once more, in its looks."""
GROWTH = 2.0
"""A profile is made of twice as many samples as the one before."""


class HeadSupply:
    """Supplies the heads of all streams of a node."""

    def __init__(self, samples: NodeSamples, maker: HeadMaker, rule: Rule, books: Books | None = None) -> None:
        """``rule``: the rule of the audit. Without ``books`` everything may be spent."""
        self.labels, self.features, self.samples = samples.labels, samples.features, samples
        self.books = books or Books("")
        self._maker, self._rule = maker, rule
        self._templates = {
            name: template if template.has_store else template.with_rates(())  # until they are measured on samples
            for name, template in samples.templates.items()
        }
        self._rules: dict[tuple[int, bool], Adaptive] = {}
        self._profiling: dict[str, asyncio.Task[None]] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._cutting: dict[str, asyncio.Task[None]] = {}
        self._unusable: dict[str, str] = {}
        """By template: why it can be used no more."""
        self._promising: Sequence[str] = tuple(self._templates)
        """The templates whose heads may be used, as far as is known: nothing is spent on others."""
        self._measured = {name for name, template in self._templates.items() if template.measured}
        self._prices = HeadPrices(self.features, samples, self._measured, self._maker.costs_here)

    def rules(self, strictness: int, may_train: bool = True) -> Adaptive:
        """Return WEG's configuration for a stream whose heads failed so many times."""
        key = strictness, may_train
        if key not in self._rules:
            tolerance = self._tolerance(strictness)
            templates = {
                name: stored.at(tolerance, self.features.cost(name), self.features.passed(name))
                for name, stored in self._templates.items()
            }
            config = WegConfig(
                classes=len(self.labels.words),
                tau_a=-self._rule.tolerance,
                least_agreement=1 - PROVABLE * self._rule.tolerance,
                w_min=self._prices.window,
                w_max=MOST_WINDOW,
                retarget_cost=self._prices.in_looks,
                proof=PROOF,
                sought_every=SOUGHT_EVERY,
            )
            self._rules[key] = (Adaptive if may_train else KnownHeadsOnly)(config, templates)
        return self._rules[key]

    def worth_it(self, target: HeadTarget, rates: Rates | None, strictness: int, named: float = 1.0) -> bool:
        """Whether a head does what WEG expects of heads of its template, and pays for its training and its audits.

        ``rates``: the head's own, or None before it is trained. ``named``: share of the objects that have a name at
        all; on the rest the head says "other".
        """
        rules = self.rules(strictness)
        template, config = rules.templates[target.template], rules.config
        expected = template.rates(len(target.classes))
        found = rates or expected
        if expected is None or found is None:
            return False
        cascaded = found.cascaded(target.skew * named)
        cost = template.cascade_cost(found, target.skew * named) + AUDITED * (1 - cascaded)
        return (
            found.accuracy(target.skew, config.oracle_accuracy) >= config.least_accuracy
            and cascaded <= 1 - LEAST_ANSWERED
            and cost < 1 - config.retarget_cost / config.w_max
        )

    def may_train(self) -> bool:
        """Whether everything is ready, and training can be paid now."""
        return bool(self.sampled()) and self.books.purse.may_spend(self._prices.training.seconds)

    async def train(self, head: Head, strictness: int, ledger: Ledger, stream: str) -> Trained:
        """Have a head trained; raises SluiceError where that is not possible, or cannot be paid."""
        estimate_s = self._prices.training.seconds
        if not ledger.purse.reserve(estimate_s):
            raise SluiceError("its training cannot be paid yet")
        bill = _Bill(estimate_s)
        try:
            return await self._maker.train(self._wish(head, strictness, stream), bill.paid)
        finally:
            ledger.pay("training", estimate_s, bill.seconds)
            self._prices.training.took(bill.seconds)

    def newer(self, head: Head, strictness: int, stream: str, version: int) -> Trained | None:
        """A later version of a head than this one, if one has come that can be used."""
        return self._maker.newer(self._wish(head, strictness, stream), version)

    def report(self, head: Head, strictness: int, stream: str, version: int, seen: VersionUse) -> None:
        """Say that a head is wanted as before, and what was seen of it."""
        self._maker.report(self._wish(head, strictness, stream), version, seen)

    def may_listen(self, template: str, looks: int) -> bool:
        """Whether the oracle may give the features of so many looks on its way; an audit can be paid then too."""
        detour_s = looks * self.features.detour_s(template)
        return self.features.resumes(template) and self.books.purse.may_spend(detour_s + self.books.oracle_s)

    def listened(self, stream: str, template: str, looks: int, why: Expense) -> None:
        """The features of so many looks were read on the oracle's way."""
        self.books.of(stream).spend(why, looks * self.features.detour_s(template))

    def prepare_where_due(self, ledger: Ledger) -> None:
        """Open networks, and validate heads on the samples whenever there are twice as many, if that can be paid."""
        for name in self._promising:
            if not self.features.is_open(name):
                self._open_where_due(name, ledger)
            elif not self._templates[name].has_store and name not in self._profiling:
                self._profile_where_due(name, ledger)

    def sampled(self) -> dict[str, float]:
        """The templates that are ready for samples, with the seconds that must be left for what matters more.

        Without rates the samples come first, then their profile; with rates a head's training and its proof.
        """
        return {name: self._prices.kept_s(name) for name in self._promising if self.features.is_open(name)}

    def cut_where_due(self, template: str, passed: float, looks_per_hour: float, ledger: Ledger) -> None:
        """Cut the oracle where a head reads, if what goes on from there brings that back, and it can be paid.

        ``passed``: share of the looks that the head has passed on. What an audit costs stays in the purse: without it
        the head may not answer.
        """
        if template in self._cutting or not self.features.may_cut(template):
            return
        estimate_s = CUT_LOOKS * self.features.oracle_s
        gain_s = passed * self.features.hoped_s(template) * looks_per_hour * HORIZON_H
        if gain_s >= estimate_s > 0 and self.books.purse.may_spend(estimate_s + self.books.oracle_s):
            self.books.purse.reserve(estimate_s)
            self._cutting[template] = asyncio.create_task(self._cut(template, ledger, estimate_s))

    def gathered(self, looks: int) -> str | None:
        """The template for which so many looks become samples on the oracle's way, if that can be paid."""
        for name, kept_s in self.sampled().items():
            wanted = self.features.resumes(name) and self.samples.wants_any(name)
            if wanted and self.books.purse.may_spend(looks * self.features.detour_s(name) + kept_s):
                return name
        return None

    def can_go_on(self, known: Sequence[Head]) -> bool:
        """Whether anything could be done for a stream now: its next step towards a head that answers can be paid.

        Before that nothing that the stream shows can matter. ``known``: the heads that are there; what an audit of one
        that is trusted costs stays in the purse, since without it the head may not answer.
        """
        if known:
            look_s = min(self.features.look_s(head.target.template) for head in known)
            return self.books.purse.may_spend(look_s + self.books.oracle_s)
        return self.books.purse.may_spend(min(map(self._prices.step_s, self._promising), default=math.inf))

    def why_not(self, looks_per_hour: float | None, strictness: int) -> str | None:
        """Why no head can be used at this accuracy, on a stream that is looked at so often; None where one might."""
        usable = self._usable()
        if not usable:
            return self._at_accuracy("; ".join(self._unusable.values()) or "there is no template")
        templates = {name: self._prospect(name) for name in usable}
        accuracy = self._rule.accuracy
        useless = prospects.hopeless(templates, accuracy).keys() | prospects.dispensable(templates, accuracy)
        self._promising = [name for name in usable if name not in useless]
        by_rates = prospects.why_not(templates, self._rule.accuracy)
        if not self.features.oracle_s:
            return by_rates
        if self._prices.have_changed(self._promising or usable, self.books.income_s):
            self._rules.clear()
        outlooks = [self._outlook(name, looks_per_hour, strictness) for name in self._promising or usable]
        causes = [each.why_not() for each in outlooks]
        by_costs = None if None in causes else self._at_accuracy(str(causes[0]))
        return by_costs if by_costs and all(each.gain_s <= 0 for each in outlooks) else by_rates or by_costs

    def waits_for(self) -> str | None:
        """The step that cannot be paid yet, though it might pay."""
        purse, (what, estimate) = self.books.purse, self._prices.next_step(self._promising or self._usable())
        if purse.may_spend(estimate.seconds):
            return None
        return self._at_accuracy(waiting(purse.left_s, estimate.seconds, what), "are not used yet")

    def fits(self, template: str, identity: str | None) -> bool:
        """Whether heads that were trained on this network's features, for such an oracle, can be used here."""
        return template in self._templates and identity == self._identity(template)

    async def settled(self) -> None:
        """Return when nothing is being opened or measured."""
        while tasks := [*self._profiling.values(), *self._opening.values(), *self._cutting.values()]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop measuring and taking samples."""
        for task in [*self._profiling.values(), *self._opening.values(), *self._cutting.values()]:
            task.cancel()
        await self.samples.close()

    def _wish(self, head: Head, strictness: int, stream: str) -> HeadWish:
        target, tolerance = head.target, self._tolerance(strictness)
        return HeadWish(stream, target.template, target.classes, head.training_skew, tolerance, head.number)

    def _tolerance(self, strictness: int) -> float:
        return prospects.tolerance(float(self._rule.accuracy), strictness)

    def _usable(self) -> Sequence[str]:
        return [name for name in self._templates if name not in self._unusable]

    def _identity(self, template: str) -> str | None:
        try:
            return self.features.identity(template)
        except ModelError:
            return None  # it has not been made on this machine

    def _prospect(self, template: str) -> Prospect:
        features = self.features
        return Prospect(features.cost(template), self._templates[template].measured, features.passed(template))

    def _at_accuracy(self, cause: str, what: str = "will not be used") -> str:
        return prospects.at_accuracy(self._rule.accuracy, cause, what)

    def _outlook(self, template: str, looks_per_hour: float | None, strictness: int) -> Outlook:
        share = prospects.answered_share(self._templates[template].measured, self._tolerance(strictness))
        return self._prices.outlook(template, share, looks_per_hour)

    def _open_where_due(self, template: str, ledger: Ledger) -> None:
        """Open a network once the oracle's cost is known."""
        estimate_s = self._prices.opening.seconds
        known = self.features.oracle_s > 0
        if known and template not in self._opening and ledger.purse.reserve(estimate_s):
            self._opening[template] = asyncio.create_task(self._open(template, ledger, estimate_s))

    async def _open(self, template: str, ledger: Ledger, estimate_s: float) -> None:
        took_s = estimate_s
        try:
            took_s = await self.features.open(template)
        except SluiceError as error:
            self._unusable[template] = str(error)
            log.warning("no heads: %s", error)
        finally:
            ledger.pay("training", estimate_s, took_s)
            self._prices.opening.took(took_s)
            del self._opening[template]

    async def _cut(self, template: str, ledger: Ledger, estimate_s: float) -> None:
        took_s = estimate_s
        try:
            took_s = await self.features.cut(template)
        except SluiceError as error:
            log.info("%s: what its heads pass on begins anew: %s", template, error)
        finally:
            self._rules.clear()  # whether the oracle goes on from the cut is known now
            ledger.pay("training", estimate_s, took_s)
            del self._cutting[template]

    def _profile_where_due(self, template: str, ledger: Ledger) -> None:
        """Measure on the samples how well heads do; after that the template may be chosen."""
        estimate_s, strangers_s = self._prices.profiling.seconds, self._prices.strangers_s(template)
        if ledger.purse.may_spend(estimate_s + strangers_s) and self.samples.profile_is_due(template):
            ledger.purse.reserve(estimate_s + strangers_s)
            self._profiling[template] = asyncio.create_task(self._profile(template, ledger, estimate_s, strangers_s))

    async def _profile(self, template: str, ledger: Ledger, estimate_s: float, strangers_s: float) -> None:
        bill = _Bill(estimate_s)
        try:
            if strangers_s:
                await self._meet_strangers(template, ledger, strangers_s)
            measured = await self._maker.profile(template, bill.paid)
        except SluiceError as error:
            log.info("%s: heads cannot be judged yet: %s", template, error)
        else:
            self._templates[template] = self._templates[template].with_rates(measured)
            self._measured.add(template)
            self._rules.clear()
        finally:
            ledger.pay("profiling", estimate_s, bill.seconds)
            self._prices.profiling.took(GROWTH * bill.seconds)
            del self._profiling[template]

    async def _meet_strangers(self, template: str, ledger: Ledger, estimate_s: float) -> None:
        """Make up the samples of streams that show one class only."""
        took_s = estimate_s
        try:
            asked = await self.samples.add_strangers(template)
            took_s = asked * (self.features.oracle_s + self.features.look_s(template))
        finally:
            ledger.pay("samples", estimate_s, took_s)


class _Bill:
    """The seconds of a job; the estimate as long as the job has not said them."""

    def __init__(self, estimate_s: float) -> None:
        self.seconds = estimate_s

    def paid(self, processor_s: float) -> None:
        self.seconds = processor_s
