"""Where the heads of a node come from: templates for its oracle, the networks they need, and who trains them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from operators.frame import Frame, Image, Region
from operators.inference import Inference, prepared
from operators.recognise.own_samples import OwnSamples
from operators.recognise.recogniser import Recogniser
from operators.recognise.relative_cost import relative_cost
from serving.errors import SluiceError
from serving.urgency import BACKGROUND, Urgency
from specialization.head import SpecialisedHead
from specialization.specializer import Job, ProfileJob, Specializer
from specialization.templates import StoredTemplate
from specialization.weg_adaptive import Adaptive
from specialization.weg_config import WegConfig
from specialization.weg_state import Head

log = logging.getLogger(__name__)

TOLERATED = 0.5
"""Of the disagreement that a query allows: what a head may come to, so that audits can prove it good enough."""


class Workshop:
    """Shared by all streams of a node. The oracle's answers are numbered as in ``labels``."""

    def __init__(
        self,
        engine: Inference,
        recogniser: Recogniser,
        oracle: str,
        templates: Sequence[StoredTemplate],
        specializer: Specializer,
        accuracy: float,
        samples: Path,
    ) -> None:
        """``samples``: where the streams' own are kept, for templates that come without a training set."""
        self.labels = recogniser.labels(oracle)
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._engine, self._recogniser, self._oracle = engine, recogniser, oracle
        self._templates = {template.name: template for template in templates}
        self._specializer, self._accuracy = specializer, accuracy
        self.costs: dict[str, float] = {}
        """Of one input of each feature network, as a share of the oracle's."""
        self._rules: dict[int, Adaptive] = {}
        self._own = next((template.with_rates(()) for template in templates if not template.has_store), None)
        if self._own is not None:
            self._templates[self._own.name] = self._own  # until its rates are measured on samples
        self._samples = OwnSamples(samples, self._of_crop) if self._own else None
        self._profiling: asyncio.Task[None] | None = None

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
            config = WegConfig(classes=len(self.labels), tau_a=self._accuracy - 1)
            self._rules[strictness] = Adaptive(config, templates)
        return self._rules[strictness]

    async def features(
        self, template: str, frame: Frame, regions: Sequence[Region], urgency: Urgency
    ) -> NDArray[np.float32]:
        """N × D of regions of a frame."""
        return await self._features(template, self._recogniser.crops(template, frame, regions), urgency)

    async def train(self, head: Head, strictness: int) -> SpecialisedHead:
        """Have a head trained; raises SluiceError where that is not possible."""
        target = head.target
        stored = self._templates[target.template]
        store = stored.directory if stored.has_store or self._samples is None else self._samples.directory
        return await self._specializer.train(
            Job(str(store), target.classes, head.training_skew, self._tolerance(strictness), seed=head.number)
        )

    def collect(self, frame: Frame, regions: Sequence[Region]) -> None:
        """Objects that the oracle has named: samples, where a template needs them."""
        if self._samples is None or self._own is None or not regions:
            return
        crops = self._recogniser.crops(self._own.name, frame, regions)
        self._samples.offer(frame.stream, crops, [self.number(region.attributes[-1].label) for region in regions])
        if self._samples.profile_is_due() and self._profiling is None:
            self._profiling = asyncio.create_task(self._profile(self._own, self._samples.directory))

    def left(self, stream: str) -> None:
        """The frame that came last is complete: from now on its samples delay nothing of it."""
        if self._samples is not None:
            self._samples.left(stream)

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
        if self._profiling is not None:
            self._profiling.cancel()
        if self._samples is not None:
            await self._samples.close()

    def _tolerance(self, strictness: int) -> float:
        return float((1 - self._accuracy) * TOLERATED / 2**strictness)

    async def _of_crop(self, crop: Image) -> NDArray[np.float32]:
        assert self._own is not None
        features: NDArray[np.float32] = (await self._features(self._own.name, [crop], BACKGROUND))[0]
        return features

    async def _features(self, template: str, crops: Sequence[Image], urgency: Urgency) -> NDArray[np.float32]:
        batch, _ = await prepared(self._engine.card(template).input, crops)
        (features, *_) = await self._engine.infer(template, batch, urgency)
        return np.asarray(features, np.float32).reshape(len(features), -1)

    async def _profile(self, template: StoredTemplate, samples: Path) -> None:
        """Measure how well heads do on the samples there are; from then on the template may be chosen."""
        try:
            measured = await self._specializer.profile(ProfileJob(str(samples), seed=0))
        except SluiceError as error:
            log.info("%s: heads cannot be judged yet: %s", template.name, error)
        else:
            self._own = self._templates[template.name] = template.with_rates(measured)
            self._rules.clear()
        finally:
            self._profiling = None
