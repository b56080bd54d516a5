"""Where the heads of a node come from: templates for its oracle, the networks they need, and who trains them."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from cache_adapt.audit_state import Rule
from operators.frame import Frame, Image, Region
from operators.inference import Inference, prepared
from operators.recognise.own_samples import OwnSamples
from operators.recognise.recogniser import Recogniser
from operators.recognise.relative_cost import relative_cost
from serving.errors import SluiceError
from serving.urgency import BACKGROUND, Urgency
from specialization.accuracy_estimate import Rates
from specialization.head import SpecialisedHead
from specialization.specializer import Job, ProfileJob, Specializer
from specialization.templates import StoredTemplate
from specialization.weg_adaptive import Adaptive
from specialization.weg_config import WegConfig
from specialization.weg_state import Head, Target

log = logging.getLogger(__name__)

TOLERATED = 0.5
"""Of the disagreement that a query allows: what a head may come to, so that audits can prove it good enough."""

AUDITED = 0.25
"""Of a head's answers, for its first thousand or two."""


class Workshop:
    """Shared by all streams of a node. The oracle's answers are numbered as in ``labels``."""

    def __init__(
        self,
        engine: Inference,
        recogniser: Recogniser,
        oracle: str,
        templates: Sequence[StoredTemplate],
        specializer: Specializer,
        rule: Rule,
        samples: Path,
    ) -> None:
        """``samples``: where the streams' own are kept."""
        self.labels = recogniser.labels(oracle)
        self.labels_digest = hashlib.sha256("\0".join(self.labels).encode()).hexdigest()
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._engine, self._recogniser, self._oracle = engine, recogniser, oracle
        self._templates = {template.name: template for template in templates}
        self._specializer, self._rule = specializer, rule
        self.costs: dict[str, float] = {}
        """Of one input of each feature network, as a share of the oracle's."""
        self._rules: dict[int, Adaptive] = {}
        for template in templates:
            if not template.has_store:
                self._templates[template.name] = template.with_rates(())  # until they are measured on samples
        self._samples = {name: OwnSamples(samples / name, partial(self._of_crop, name)) for name in self._templates}
        self._profiling: dict[str, asyncio.Task[None]] = {}

    async def prepare(self) -> None:
        """Load the feature networks and measure what they cost; ModelError where one cannot be loaded."""
        for name in self._templates:
            await self._engine.load(name)
            self.costs[name] = await relative_cost(self._engine, name, self._oracle)

    def rules(self, strictness: int) -> Adaptive:
        """WEG's, for streams whose heads agreed too seldom so many times; accuracy is agreement with the oracle."""
        if strictness not in self._rules:
            tolerance = self._tolerance(strictness)
            templates = {
                name: stored.at(tolerance, self.costs.get(name, 1.0)) for name, stored in self._templates.items()
            }
            config = WegConfig(classes=len(self.labels), tau_a=-self._rule.tolerance)
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

    async def features(
        self, template: str, frame: Frame, regions: Sequence[Region], urgency: Urgency
    ) -> NDArray[np.float32]:
        """N × D of regions of a frame."""
        return await self._features(template, self._recogniser.crops(template, frame, regions), urgency)

    async def train(self, head: Head, strictness: int) -> SpecialisedHead:
        """Have a head trained; raises SluiceError where that is not possible."""
        target, samples = head.target, self._samples[head.target.template]
        stored, own = self._templates[target.template], str(samples.directory)
        return await self._specializer.train(
            Job(
                str(stored.directory) if stored.has_store else own,
                target.classes,
                head.training_skew,
                self._tolerance(strictness),
                seed=head.number,
                own=own if stored.has_store and samples.taken else None,
            )
        )

    def collect(self, frame: Frame, regions: Sequence[Region]) -> None:
        """Objects that the oracle has named: samples for heads to come."""
        if not regions:
            return
        labels = [self.number(region.attributes[-1].label) for region in regions]
        for name, samples in self._samples.items():
            samples.offer(frame.stream, self._recogniser.crops(name, frame, regions), labels)
            if not self._templates[name].has_store and samples.profile_is_due() and name not in self._profiling:
                self._profiling[name] = asyncio.create_task(self._profile(name, samples.directory))

    def collect_audited(self, stream: str, crop: Image, label: str) -> None:
        """An object that a head had named and the oracle has looked at: the samples of dominant classes stay fresh."""
        for name, samples in self._samples.items():
            if self._engine.card(name).input.margin == self._engine.card(self._oracle).input.margin:
                samples.offer(stream, [crop], [self.number(label)])
                samples.left(stream)

    def left(self, stream: str) -> None:
        """The frame that came last is complete: from now on its samples delay nothing of it."""
        for samples in self._samples.values():
            samples.left(stream)

    def has(self, template: str) -> bool:
        """Whether there is a template of this name."""
        return template in self._templates

    @property
    def templates(self) -> list[str]:
        """Their names."""
        return list(self._templates)

    @property
    def typical_cost(self) -> float:
        """Of one input of a feature network, as a share of the oracle's; the mean where there are several."""
        return fmean(self.costs.values()) if self.costs else 1.0

    def sha256(self, template: str) -> str:
        """Of the feature network."""
        return self._engine.card(template).sha256

    def number(self, label: str) -> int:
        """Of an answer of the oracle."""
        return self._numbers[label]

    def words(self, classes: Sequence[int]) -> list[str]:
        """Their labels."""
        return [self.labels[each] for each in classes]

    async def close(self) -> None:
        """Take no more samples."""
        for profiling in self._profiling.values():
            profiling.cancel()
        for samples in self._samples.values():
            await samples.close()

    def _tolerance(self, strictness: int) -> float:
        return float(self._rule.tolerance * TOLERATED / 2**strictness)

    async def _of_crop(self, template: str, crop: Image) -> NDArray[np.float32]:
        features: NDArray[np.float32] = (await self._features(template, [crop], BACKGROUND))[0]
        return features

    async def _features(self, template: str, crops: Sequence[Image], urgency: Urgency) -> NDArray[np.float32]:
        batch, _ = await prepared(self._engine.card(template).input, crops)
        (features, *_) = await self._engine.infer(template, batch, urgency)
        return np.asarray(features, np.float32).reshape(len(features), -1)

    async def _profile(self, template: str, samples: Path) -> None:
        """Measure how well heads do on the samples there are; from then on the template may be chosen."""
        try:
            measured = await self._specializer.profile(ProfileJob(str(samples), seed=0))
        except SluiceError as error:
            log.info("%s: heads cannot be judged yet: %s", template, error)
        else:
            self._templates[template] = self._templates[template].with_rates(measured)
            self._rules.clear()
        finally:
            del self._profiling[template]
