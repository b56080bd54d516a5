"""Runs the compact networks whose features heads are trained on, and measures their cost."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Frame, Region
from operators.inference import Inference, prepared
from operators.recognise.recogniser import Recogniser
from operators.recognise.specialised.relative_cost import relative_cost
from serving.common.tensors import Image
from serving.scheduling.urgency import BACKGROUND, Urgency


class Features:
    """The feature networks of a node, by the names of their templates."""

    def __init__(self, engine: Inference, recogniser: Recogniser, networks: Sequence[str]) -> None:
        self.networks = tuple(networks)
        self.costs: dict[str, float] = {}
        """Cost of one input of each network as a share of the oracle's; measured by ``prepare``."""
        self._engine, self._recogniser, self._oracle = engine, recogniser, recogniser.roles.oracle

    async def prepare(self) -> None:
        """Load the networks and measure what they cost; ModelError where one cannot be loaded."""
        for name in self.networks:
            await self._engine.load(name)
            self.costs[name] = await relative_cost(self._engine, name, self._oracle)

    @property
    def typical_cost(self) -> float:
        """The mean cost of the networks."""
        return fmean(self.costs.values()) if self.costs else 1.0

    def sha256(self, network: str) -> str:
        """Return the digest of the network."""
        return self._engine.card(network).sha256

    def sees_as_the_oracle(self, network: str) -> bool:
        """Whether the network takes the same crops as the oracle."""
        return self._engine.card(network).input.margin == self._engine.card(self._oracle).input.margin

    def crops(self, network: str, frame: Frame, regions: Sequence[Region]) -> list[Image]:
        """Return the network's crop of each region, as views into the frame's image."""
        return self._recogniser.crops(network, frame, regions)

    async def of_regions(
        self, network: str, frame: Frame, regions: Sequence[Region], urgency: Urgency
    ) -> NDArray[np.float32]:
        """Return N × D features for regions of a frame."""
        return await self._run(network, self.crops(network, frame, regions), urgency)

    async def of_crop(self, network: str, crop: Image) -> NDArray[np.float32]:
        """Return the D features of a crop, in the background."""
        features: NDArray[np.float32] = (await self._run(network, [crop], BACKGROUND))[0]
        return features

    async def _run(self, network: str, crops: Sequence[Image], urgency: Urgency) -> NDArray[np.float32]:
        batch, _ = await prepared(self._engine.card(network).input, crops)
        (features, *_) = await self._engine.infer(network, batch, urgency)
        return np.asarray(features, np.float32).reshape(len(features), -1)
