"""Supplies the heads of a node: from templates for its oracle, samples, and a trainer."""

from __future__ import annotations

import asyncio
import logging

from cache_adapt.audit.state import Rule
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.labels import Labels
from operators.recognise.specialised.own_samples import NodeSamples
from serving.errors import SluiceError
from specialization.heads.head import SpecialisedHead
from specialization.rates import Rates
from specialization.trainer.trainer import Job, ProfileJob, Specializer
from specialization.weg.adaptive import Adaptive
from specialization.weg.config import WegConfig
from specialization.weg.state import Head, Target

log = logging.getLogger(__name__)

TOLERATED = 0.5
"""Share of the allowed disagreement that a head may reach, so that audits can prove it good enough."""

AUDITED = 0.25
"""Share of a head's answers that are audited while it is on probation: its first thousand or two."""


class HeadSupply:
    """Supplies the heads of all streams of a node."""

    def __init__(
        self, labels: Labels, features: Features, samples: NodeSamples, trainer: Specializer, rule: Rule
    ) -> None:
        """``rule``: the rule of the audit."""
        self.labels, self.features, self.samples = labels, features, samples
        self._trainer, self._rule = trainer, rule
        self._templates = {
            name: template if template.has_store else template.with_rates(())  # until they are measured on samples
            for name, template in samples.templates.items()
        }
        self._rules: dict[int, Adaptive] = {}
        self._profiling: dict[str, asyncio.Task[None]] = {}

    def rules(self, strictness: int) -> Adaptive:
        """Return WEG's configuration for a stream whose heads failed so many times."""
        if strictness not in self._rules:
            tolerance, costs = self._tolerance(strictness), self.features.costs
            templates = {name: stored.at(tolerance, costs.get(name, 1.0)) for name, stored in self._templates.items()}
            config = WegConfig(classes=len(self.labels.words), tau_a=-self._rule.tolerance)
            self._rules[strictness] = Adaptive(config, templates)
        return self._rules[strictness]

    def serves(self, target: Target, rates: Rates, strictness: int) -> bool:
        """Whether a head does what WEG expects of heads of its template, and pays for its training and its audits."""
        rules = self.rules(strictness)
        template, config = rules.templates[target.template], rules.config
        cascaded = rates.cascaded(target.skew)
        cost = template.cost + cascaded + AUDITED * (1 - cascaded)
        return (
            template.rates(len(target.classes)) is not None
            and rates.accuracy(target.skew, config.oracle_accuracy) >= config.least_accuracy
            and cost < 1 - config.retarget_cost / config.w_max
        )

    async def train(self, head: Head, strictness: int) -> SpecialisedHead:
        """Have a head trained; raises SluiceError where that is not possible."""
        target = head.target
        stored, own = self._templates[target.template], str(self.samples.directory(target.template))
        return await self._trainer.train(
            Job(
                str(stored.directory) if stored.has_store else own,
                target.classes,
                head.training_skew,
                self._tolerance(strictness),
                seed=head.number,
                own=own if stored.has_store and self.samples.taken(target.template) else None,
            )
        )

    def profile_where_due(self) -> None:
        """Begin to validate heads once there are enough samples, and whenever there are twice as many."""
        for name, stored in self._templates.items():
            if not stored.has_store and self.samples.profile_is_due(name) and name not in self._profiling:
                self._profiling[name] = asyncio.create_task(self._profile(name))

    def fits(self, template: str, sha256: str | None) -> bool:
        """Whether heads that were trained on this network's features can be used here."""
        return template in self._templates and sha256 == self.features.sha256(template)

    async def settled(self) -> None:
        """Return when nothing is being measured."""
        while self._profiling:
            await asyncio.wait(self._profiling.values())

    async def close(self) -> None:
        """Stop measuring and taking samples."""
        for profiling in self._profiling.values():
            profiling.cancel()
        await self.samples.close()

    def _tolerance(self, strictness: int) -> float:
        return float(self._rule.tolerance * TOLERATED / 2**strictness)

    async def _profile(self, template: str) -> None:
        """Validate heads on the samples; after that the template may be chosen."""
        try:
            measured = await self._trainer.profile(ProfileJob(str(self.samples.directory(template)), seed=0))
        except SluiceError as error:
            log.info("%s: heads cannot be judged yet: %s", template, error)
        else:
            self._templates[template] = self._templates[template].with_rates(measured)
            self._rules.clear()
        finally:
            del self._profiling[template]
