"""Runs the compact networks whose features heads are trained on; each is made and loaded when it is first worth it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from operators.audits.unit_costs import CALL_S, HANDLING_S, UnitCosts
from operators.frames.frame import Frame, Region
from operators.inference import Inference, prepared
from operators.recognise.recogniser import Recogniser
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Image
from serving.common.threads import ThreadTime, in_thread
from serving.errors import ModelError
from serving.scheduling.urgency import BACKGROUND, Urgency


def head_identity(network: ModelCard, oracle: ModelCard) -> str:
    """Digest of all that a head depends on: whose features it reads, and whose answers it learnt; 64 digits."""
    return hashlib.sha256(f"{network.identity} {oracle.identity}".encode()).hexdigest()


class Features:
    """The feature networks of a node, by the names of their templates."""

    def __init__(
        self,
        engine: Inference,
        recogniser: Recogniser,
        shares: Mapping[str, float],
        make: Callable[[], object] | None = None,
    ) -> None:
        """``shares``: cost of one input by network, as a share of the oracle's, as far as their templates know.

        ``make``: makes the network's files where they are missing, in a thread; raises SluiceError.
        """
        self.networks = tuple(shares)
        self.costs = UnitCosts(engine)
        self._engine, self._recogniser, self._oracle = engine, recogniser, recogniser.roles.oracle
        self._shares, self._make = shares, make
        self._opened: set[str] = set()
        self._dims: dict[str, int] = {}

    @property
    def are_made(self) -> bool:
        """Whether a network's files may have to be made first."""
        return self._make is not None

    def is_open(self, network: str) -> bool:
        """Whether the network is ready."""
        return network in self._opened

    async def open(self, network: str) -> float:
        """Make and load a network; SluiceError where that fails. Returns the processor seconds that it took."""
        took = ThreadTime()
        if self._make is not None:
            await in_thread(took.of(self._make))
        loading_s = await self._engine.load(network)
        self._opened.add(network)
        return loading_s + took.seconds

    def look_s(self, network: str) -> float:
        """Processor seconds of one look: as observed, or as its template thinks."""
        known = self.costs.look_s(network)
        return known if known is not None else self._shares[network] * self.oracle_s + CALL_S + HANDLING_S

    @property
    def oracle_s(self) -> float:
        """Processor seconds of one look of the oracle; 0 as long as that is not known."""
        return self.costs.look_s(self._oracle) or 0.0

    def cost(self, network: str) -> float:
        """Cost of one look as a share of the oracle's."""
        return self.look_s(network) / self.oracle_s if self.oracle_s else self._shares[network]

    def identity(self, network: str) -> str:
        """Return the digest of the network and of the oracle that heads learn from, with what both are fed."""
        return head_identity(self._engine.card(network), self._engine.card(self._oracle))

    def check_dims(self, network: str, dims: int) -> None:
        """Raise ModelError where the network is known to give another number of features."""
        if self._dims.get(network, dims) != dims:
            raise ModelError(f"it reads {dims} features, but {network} gives {self._dims[network]}")

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
        found = np.asarray(features, np.float32).reshape(len(features), -1)
        self._dims[network] = found.shape[1]
        return found
