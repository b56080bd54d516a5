"""The backend, a node that runs models (Shen, 2019, §3.5): all networks of a process behind ``await backend.infer(…)``.

Networks are loaded when they are first asked for and leave when others need their memory. Requests of all streams wait
in one queue per session; the device runs them batch by batch and answers on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.tensors import Array
from serving.common.threads import ThreadTime
from serving.engines.exits import RowPolicy
from serving.errors import ModelError
from serving.graphs.surgery.sizes import Size
from serving.loading.loader import Loader, Opener
from serving.loading.opening import open_group
from serving.loading.rectangles import Rectangles
from serving.scheduling.device import DeviceStats
from serving.scheduling.estimates import ProcessorMeter
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import PriceAt, Request, Urgency, free
from serving.variants import profiles
from serving.variants.artefacts import ResolvedModel, folder, resolve, user_cache
from serving.variants.profiles import fingerprint
from serving.variants.timings import VariantFigures, measured, store
from serving.variants.variant import parse, sized

log = logging.getLogger(__name__)


class Backend:
    """Runs the catalogue's networks on one device; used from one event loop."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        bounds: NetworkBounds | None = None,
        artefacts_dir: Path | None = None,
        opener: Opener = open_group,
        clock: Clock = SYSTEM,
        observer: EngineObserver = UNOBSERVED,
    ) -> None:
        """``artefacts_dir``: where variants lie; None: the user's cache."""
        self._catalogue, self._artefacts_dir = catalogue, artefacts_dir or user_cache()
        self._cards: dict[str, ModelCard] = {}
        self._cut_models: dict[str, tuple[str, tuple[str, ...]]] = {}
        """By name: models that are cut, and where."""
        self._loader = Loader(bounds or NetworkBounds(), opener, clock, observer)
        self._rectangles = Rectangles(self.card, self.load)
        self._clock = clock
        self._device = self._loader.device
        self._users = 0
        """How many have started it and not stopped it."""

    async def start(self) -> None:
        """Be ready for requests. Several may start it; it stops when as many have stopped it."""
        self._users += 1
        if self._users == 1:
            self._device.start()

    @property
    def hung(self) -> asyncio.Event:
        """Is set once a network did not return and cannot be ended: all requests fail from then on."""
        return self._loader.hung

    async def stop(self) -> None:
        """Finish what was asked so far; later requests are refused."""
        self._users -= 1
        if self._users <= 0:
            await self._device.stop()

    def card(self, model: str) -> ModelCard:
        """The card of a model, or of a variant's model, without loading it; ModelError if there is none."""
        if model not in self._cards:
            variant = parse(model)
            self._cards[model] = sized(self._catalogue.find(variant.model).card, variant)
        return self._cards[model]

    def place_of(self, model: str, price: PriceAt = free) -> str:
        """The name by which a model is asked for: its own, since all are run here."""
        return model

    def is_placed(self, model: str) -> bool | None:
        """No placement speaks of networks of this process."""
        return None

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """The card of a model with the input that fits pictures of this size, and that ``infer`` takes too.

        ``detail``: the longer side that is wanted, if it can be had. The model's own card where the network takes no
        other; ModelError if there is no such model.
        """
        return await self._rectangles.fitted(model, width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        """The name under which a model is run cut at these tensors; the same cuts have one. ModelError for no model.

        Its outputs are ``ExitResult``. Cuts lie in dataflow order; where they cannot be made, loading it says so.
        """
        wanted = model, tuple(cuts)
        for name, known in self._cut_models.items():
            if known == wanted:
                return name
        name = f"{model}+cuts{len(self._cut_models) + 1}"
        self._cards[name] = self.card(model)
        self._cut_models[name] = wanted
        return name

    async def load(self, model: str) -> float:
        """Verify and open a network, unless it is loaded; ModelError where that fails.

        Returns the processor seconds that its threads took; 0 where it was loaded.
        """
        self._loader.check_in_service(model)
        if self._loader.session(model) is not None:
            return 0.0
        took = ThreadTime()
        found = await asyncio.to_thread(took.of(partial(self._resolved, model)))
        return await self._loader.load(found) + took.seconds

    def is_loaded(self, model: str) -> bool:
        """Whether a network is on the device now."""
        return self._loader.session(model) is not None

    @property
    def loaded(self) -> list[str]:
        """The models and variants on the device."""
        found = self._loader.loaded
        return [name for name in found if name not in self._cut_models and self._rectangles.source(name) is None]

    def run_with(self, model: str) -> frozenset[str]:
        """All models that are run and unloaded as one with a model, itself included; none where it is not loaded."""
        return self._loader.run_with(model)

    def check_in_service(self, model: str) -> None:
        """Raise OutOfService where a network did not return before."""
        self._loader.check_in_service(model)

    async def unload(self, model: str) -> None:
        """Give a network's memory back once nobody uses it: of all its shapes and cuts, with those it is run with."""
        cut = [name for name, (of, _) in self._cut_models.items() if of == model]
        for name in (model, *self._rectangles.shapes(model), *cut):
            await self._loader.unload(name)

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        """Outputs for N × … inputs of the card, or of one that was fitted, in the card's order, first axis N.

        ``policy``: of the rows, where the model is cut; None: all run on, nobody answers.
        Raises ModelError for a batch or a policy that the network does not take, TooLate for a droppable request that
        cannot be answered in time, OutOfService for a network that did not return, SluiceError where it fails or the
        backend has stopped.
        """
        if policy is not None:
            self._check(policy, model, len(batch))
        model = self._rectangles.name(model, batch)
        if self._loader.session(model) is not None:
            self._loader.requested(model)
        while (session := self._loader.session(model)) is None:
            await self.load(model)
        with self._loader.pinned(model):
            session.group.check(model, batch)
            request = Request(model, batch, urgency, asyncio.get_running_loop().create_future(), policy)
            self._device.submit(session, request)
            try:
                return await request.answer
            finally:
                del request  # an error in its answer holds this call: both would stay in memory, with the batch

    def measured(self, model: str) -> VariantFigures | None:
        """The figures measured of a model on this machine, None for none; ModelError for those that cannot be used."""
        variant = parse(model)
        return measured(self._catalogue.find(variant.model), variant, self._artefacts_dir)

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        """Keep times of a model that were measured in passing; BadInput where they cannot be written.

        Returns the model's figures with them.
        """
        variant = parse(model)
        entry = self._catalogue.find(variant.model)
        store(tail_s, entry, variant, self._artefacts_dir)
        return measured(entry, variant, self._artefacts_dir) or VariantFigures(tail_s, None)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        """Processor seconds of one item by the newest batches; None where the model is not loaded or has not run.

        ``shape``: on pictures of this shape; None: on those of the latest batch.
        """
        meter = self._meter(self._rectangles.latest(model) if shape is None else self._rectangles.named(model, shape))
        return None if meter is None else meter.item_s

    def stats(self) -> DeviceStats:
        """A snapshot of the device's counters."""
        return self._device.stats

    def _check(self, policy: RowPolicy, model: str, rows: int) -> None:
        if model not in self._cut_models:
            raise ModelError(f"model {model!r} is not cut, and takes no policy")
        policy.check(model, self._cut_models[model][1], rows)

    def _meter(self, name: str) -> ProcessorMeter | None:
        session = self._loader.session(name)
        return None if session is None else session.processor.get(name)

    def _resolved(self, model: str) -> ResolvedModel:
        if model in self._cut_models:
            of, cuts = self._cut_models[model]
            return replace(resolve(of, self._catalogue, self._artefacts_dir), name=model, cuts=cuts)
        if (shaped := self._rectangles.source(model)) is not None:
            of, size = shaped
            return replace(resolve(of, self._catalogue, self._artefacts_dir), name=model, shape=size)
        found = resolve(model, self._catalogue, self._artefacts_dir)
        return replace(found, latency_s=self._known_latency(found))

    def _known_latency(self, found: ResolvedModel) -> Mapping[int, float]:
        """Latency by batch size where it was measured on this machine; the rest is learnt while serving."""
        try:
            profile = profiles.read(folder(self._artefacts_dir, found.entry), found.variant)
        except ModelError as error:
            log.warning("%s", error)
            return {}
        if profile is None or profile.stale(found.entry.card.sha256, fingerprint(found.variant.engine)):
            return {}
        return profile.latency_s
