"""Runs the compact networks whose features heads are trained on; each is made and loaded when it is first worth it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from operators.audits.unit_costs import CALL_S, HANDLING_S, UnitCosts
from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway
from operators.inference import Inference, prepared
from operators.recognise.recogniser import Recogniser
from operators.recognise.specialised.early_cuts import EarlyCuts
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array, Image
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import Exits
from serving.errors import ModelError, SluiceError, TooLate
from serving.scheduling.requests import BACKGROUND, Urgency


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
        early: Collection[str] = (),
        exits: Callable[[], Exits | None] = lambda: None,
    ) -> None:
        """``shares``: cost of one input by network, as a share of the oracle's, as far as their templates know.

        ``make``: makes the network's files where they are missing, in a thread; raises SluiceError. ``early``: the
        networks that are the oracle's first layers; ``exits``: gives those of the node's learned caches.
        """
        self.networks = tuple(shares)
        self.costs = UnitCosts(engine)
        self._engine, self._recogniser, self._oracle = engine, recogniser, recogniser.roles.oracle
        self._shares, self._make = shares, make
        self._cuts = EarlyCuts(engine, self._oracle, early, self.costs, exits)
        self._opened: set[str] = set()
        self._dims: dict[str, int] = {}

    @property
    def are_made(self) -> bool:
        """Whether a network's files may have to be made first."""
        return self._make is not None

    def is_open(self, network: str) -> bool:
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
        known = self.costs.look_s(self._cuts.first(network) or network)
        return known if known is not None else self._shares[network] * self.oracle_s + CALL_S + HANDLING_S

    @property
    def oracle_s(self) -> float:
        """Processor seconds of one look of the oracle; 0 as long as that is not known."""
        return self.costs.look_s(self._oracle) or 0.0

    def cost(self, network: str) -> float:
        """Cost of one look as a share of the oracle's."""
        return self.look_s(network) / self.oracle_s if self.oracle_s else self._shares[network]

    def may_cut(self, network: str) -> bool:
        """Whether the network is ready, and the oracle could be cut where it ends, so that it goes on from there."""
        return self.is_open(network) and self._cuts.may_cut(network)

    async def cut(self, network: str) -> float:
        """Cut the oracle there; ModelError where that fails. Returns the processor seconds that it took."""
        return await self._cuts.cut(network)

    def hoped_s(self, network: str) -> float:
        """Processor seconds that the oracle would probably be spared then for an object that a head passes on."""
        return self._cuts.hoped_s(self._shares[network])

    def resumes(self, network: str) -> bool:
        """Whether the oracle goes on where a head of this network has read, which costs less than to begin anew."""
        return self._cuts.first(network) is not None and self._spared_s(network) > 0

    def detour_s(self, network: str) -> float:
        """Processor seconds that a look of the oracle takes more where its features are read on the way."""
        return max(self.look_s(network) + self.passed_s(network) - self.oracle_s, 0.0)

    def passed_s(self, network: str) -> float:
        """Processor seconds of the oracle for an object that a head of this network passes on."""
        return self.oracle_s - max(self._spared_s(network), 0.0)

    def passed(self, network: str) -> float:
        """The same as a share of one look of the oracle by itself."""
        return self.passed_s(network) / self.oracle_s if self.oracle_s else 1.0

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
    ) -> tuple[NDArray[np.float32], Halfway | None]:
        """Return N × D features for regions of a frame, and what the oracle can go on with for them."""
        features, activations = await self._run(network, self.crops(network, frame, regions), urgency)
        if activations is None:
            return features, None
        return features, self._cuts.halfway(network, regions, activations, self._spared_s(network))

    def _spared_s(self, network: str) -> float:
        return self._cuts.spared_s(network, self._shares[network])

    async def word(self, crop: Image) -> str:
        """Return what the oracle calls a crop, however unsure it is, in the background."""
        (said,) = await self._recogniser.name(self._oracle, [crop], BACKGROUND)
        return said.label

    async def of_crop(self, network: str, crop: Image) -> NDArray[np.float32]:
        """Return the D features of a crop, in the background."""
        (features,), _ = await self._run(network, [crop], BACKGROUND)
        row: NDArray[np.float32] = features
        return row

    async def _run(
        self, network: str, crops: Sequence[Image], urgency: Urgency
    ) -> tuple[NDArray[np.float32], Array | None]:
        """The features, and the oracle's activations where it runs in halves."""
        batch, _ = await prepared(self._engine.card(network).input, crops)
        halved = await self._halved(network, batch, urgency)
        activations, features = halved or (None, (await self._engine.infer(network, batch, urgency))[0])
        found = np.asarray(features, np.float32).reshape(len(features), -1)
        self._dims[network] = found.shape[1]
        return found, activations

    async def _halved(self, network: str, batch: Array, urgency: Urgency) -> tuple[Array, Array] | None:
        """Activations and features of the oracle's first half; None where it does not run in halves."""
        first = self._cuts.first(network)
        if first is None:
            return None
        try:
            activations, features = await self._engine.infer(first, batch, urgency)
        except TooLate:
            raise
        except SluiceError as error:
            self._cuts.leave(network, error)
            return None
        return activations, features
