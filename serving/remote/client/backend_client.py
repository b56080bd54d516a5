"""The remote models of one backend: what they are, that they stay the same networks, and calls to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random

import numpy as np

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock
from serving.common.tensors import Array
from serving.errors import BackendDown, ModelError, TooLate
from serving.loading.rectangles import Rectangles
from serving.remote.client.address import BackendAddress
from serving.remote.client.call_times import CallTimes
from serving.remote.client.calls import AnotherNetwork, CallRoom, Calls, RefusedCall, is_final
from serving.remote.client.inference_call import InferenceCall
from serving.remote.client.pick import PlacedRates
from serving.remote.client.remote_model import RemoteModel, of_others, of_ours, read_tensors
from serving.remote.client.server_channel import ServerChannel
from serving.remote.client.servers import Resolve, Servers, resolved
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import MODEL_CONFIG, MODEL_METADATA
from serving.remote.protocol.wire_card import PLATFORM, read_card, wire_card
from serving.remote.session_meter import SessionMeter
from serving.scheduling.requests import BACKGROUND, Urgency
from serving.variants.variant import parse, sized

log = logging.getLogger(__name__)

OPENING_S = 120.0
"""The longest that a backend may take for the first answer of a network: it may have to load it."""


@dataclass(frozen=True)
class ClientTools:
    clock: Clock = SYSTEM
    rng: Random = field(default_factory=Random)
    resolve: Resolve = resolved
    limits: WireLimits = field(default_factory=WireLimits)
    placed: PlacedRates = field(default_factory=PlacedRates)
    """Shared by all clients of the process."""
    meter: SessionMeter = field(default_factory=SessionMeter)
    """The same."""
    least_scores: Mapping[str, float] = field(default_factory=dict)
    """The score from which a detector of our backend is to report objects, by its name there; default: its card's."""


class BackendClient:
    """Used from one event loop."""

    def __init__(self, address: BackendAddress, catalogue: Catalogue, tools: ClientTools) -> None:
        self.address, self._tools, self._clock = address, tools, tools.clock
        self._servers = Servers(address, tools.limits, tools.clock, tools.rng, tools.resolve, tools.placed)
        self._calls = Calls(address, self._servers, tools.clock, tools.rng)
        self._descriptions = Descriptions(catalogue, tools.limits)
        self._room = CallRoom(address.name, address.in_flight)
        self._models: dict[str, RemoteModel] = {}
        self._times: dict[str, CallTimes] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._rectangles = Rectangles(self.card, self._load_shape)

    async def start(self) -> None:
        """Connect to its servers; raises BadInput for certificates that cannot be used."""
        await self._servers.start()

    async def close(self) -> None:
        for opening in self._opening.values():
            opening.cancel()
        await self._servers.close()

    @property
    def may_answer(self) -> bool:
        """Whether some server of it is ready and does not fail."""
        return bool(self._servers.askable())

    def is_placed(self, served: str) -> bool | None:
        """Whether a server that a placement names for a network has loaded it; None where there is no placement."""
        return self._servers.is_placed(served)

    def waits_for(self, served: str) -> bool:
        """Whether it answers, and has not been asked yet what this network is: it was down, or has another one now."""
        return served not in self._models and any(served not in each.refused for each in self._servers.askable())

    def identity(self, served: str) -> str | None:
        """The digest of a network that was loaded; None where the server cannot tell."""
        return self._models[served].identity if served in self._models else None

    def card(self, served: str) -> ModelCard:
        """The card of a network of it; as long as it has not answered, that of this name here. ModelError for none."""
        if served in self._models:
            return self._models[served].card
        own = self._descriptions.own(served)
        if own is None:
            raise ModelError(f"{self.address} has not said what {served} is, and no card of that name is here")
        return wire_card(own)

    async def load(self, served: str) -> None:
        """Have a network described and run once; ModelError where it cannot be used, BackendDown where none answers.

        That goes on where a caller gives up.
        """
        if served in self._models:
            return
        if served not in self._opening:
            opening = self._opening[served] = asyncio.create_task(self._open(served))
            opening.add_done_callback(partial(self._opened, served))
        await asyncio.shield(self._opening[served])

    def _opened(self, served: str, opening: asyncio.Task[None]) -> None:
        del self._opening[served]
        if not opening.cancelled():
            opening.exception()  # which nobody may wait for

    async def _open(self, served: str) -> None:
        async def described(server: ServerChannel, left_s: float) -> RemoteModel:
            server.refused.discard(served)
            try:
                return await self._descriptions.of(served, server, left_s)
            except Exception as error:
                if is_final(error):
                    server.refused.add(served)
                raise

        model = await self._calls.make(served, described, max(OPENING_S, self.address.timeout_s))
        await self._call(model, _blank(model.card, 1), BACKGROUND, OPENING_S)
        self._models[served] = model

    async def fitted(self, served: str, width: int, height: int, detail: int | None) -> ModelCard:
        """See ``Inference``; servers of others take pictures of one shape."""
        if self.identity(served) is None or not self.may_answer:
            return self.card(served)
        return await self._rectangles.fitted(served, width, height, detail)

    async def infer(self, served: str, batch: Array, urgency: Urgency) -> list[Array]:
        """The outputs for a batch, in the card's order.

        Raises TooLate for a droppable request that is not answered in time, BackendDown where no server answers with
        what was announced, ModelError for what is no batch of pictures of the network.
        """
        if served not in self._models:
            assumed = self.card(served)
            try:
                async with asyncio.timeout(self._longest_s(urgency, self.address.timeout_s)):
                    await self.load(served)
            except TimeoutError:
                raise BackendDown(f"{self.address} has not said in time what {served} is") from None
            except BackendDown:
                raise
            except ModelError as error:  # it was down, and has come back with something else
                raise BackendDown(str(error)) from error
            if self.card(served) != assumed:
                raise BackendDown(f"{self.address} is back, and {served} is asked from the next frame on")
        model = self._models[served]
        model.check_input(batch)
        began_s, answered = self._clock.monotonic_s(), False
        asked = self._tools.meter.asked(served, urgency, len(batch), began_s)
        try:
            parts = _parts(batch, model.max_batch)
            answers = [await self._call(model, part, urgency, self.address.timeout_s) for part in parts]
            answered = True
        finally:
            asked.ended(self._clock.monotonic_s(), answered)
        self._time(served).took(len(batch), self._clock.monotonic_s() - began_s)
        return answers[0] if len(answers) == 1 else [np.concatenate(each) for each in zip(*answers, strict=True)]

    def times(self, served: str) -> dict[int, float]:
        """Seconds of a call by its number of pictures, as they are now; none where nothing was measured."""
        return self._time(served).current()

    def keep_times(self, served: str, tail_s: Mapping[int, float]) -> None:
        """Take times that were measured on purpose."""
        self._time(served).measured(tail_s)

    async def _call(self, model: RemoteModel, batch: Array, urgency: Urgency, longest_s: float) -> list[Array]:
        within_s = self._longest_s(urgency, longest_s)
        if within_s <= 0:
            raise TooLate(f"{self.address} could not answer in time")
        began_s = self._clock.monotonic_s()
        least = self._tools.least_scores.get(model.served)
        async with self._room.one(urgency, within_s):

            async def attempt(server: ServerChannel, left_s: float) -> list[Array]:
                asked = await self._verified(model, server, left_s)
                call = InferenceCall(asked, batch, urgency, self._tools.limits, self._clock, least)
                return await call.to(server, left_s)

            left_s = within_s - (self._clock.monotonic_s() - began_s)
            return await self._calls.make(model.served, attempt, left_s, urgency.droppable)

    def _longest_s(self, urgency: Urgency, longest_s: float) -> float:
        left_s = urgency.deadline - self._clock.monotonic_s()
        return min(longest_s, left_s) if urgency.droppable else longest_s

    async def _verified(self, model: RemoteModel, server: ServerChannel, left_s: float) -> RemoteModel:
        """The network as the server has it, which may have taken the place of the one that it had."""
        known, others = self._models.get(model.served, model), self._servers.askable([server])
        found = await self._descriptions.verified(known, server, others, left_s)
        if found != known:
            log.warning("%s has %s %s now: it is used", self.address, found.served, found.card.version)
            self._models[model.served] = found
        return found

    async def _load_shape(self, name: str) -> float:
        """Have a detector run once at another shape; ModelError where the backend does not take it."""
        found = self._rectangles.source(name)
        assert found is not None
        served, size = found
        model = self._models[served]
        card = model.card.model_copy(
            update={"input": model.card.input.model_copy(update={"width": size.width, "height": size.height})}
        )
        try:
            await self._call(model, _blank(card, 1), BACKGROUND, OPENING_S)
        except RefusedCall as error:
            raise ModelError(str(error)) from None
        return 0.0

    def _time(self, served: str) -> CallTimes:
        return self._times.setdefault(served, CallTimes())


def _blank(card: ModelCard, items: int) -> Array:
    return np.zeros((items, *card.input.item_shape), np.dtype(card.input.dtype))


def _parts(batch: Array, most: int | None) -> list[Array]:
    """The batch in pieces that the server takes."""
    if most is None or len(batch) <= most:
        return [batch]
    return [batch[begin : begin + most] for begin in range(0, len(batch), most)]


class Descriptions:
    def __init__(self, catalogue: Catalogue, limits: WireLimits) -> None:
        self._catalogue, self._limits = catalogue, limits

    def own(self, served: str) -> ModelCard | None:
        """The card of this name here; None where there is none."""
        try:
            variant = parse(served)
            return sized(self._catalogue.find(variant.model).card, variant)
        except ModelError:
            return None

    async def of(self, served: str, server: ServerChannel, timeout_s: float) -> RemoteModel:
        """The network as the server describes it; ModelError where it cannot be used, Malformed for nonsense."""
        said = await server.ask(MODEL_METADATA, pb.ModelMetadataRequest(name=served), timeout_s)
        tensors, own = read_tensors(said, self._limits), self.own(served)
        if said.platform != PLATFORM:
            return of_others(served, own, tensors)
        config = await server.ask(MODEL_CONFIG, pb.ModelConfigRequest(name=served), timeout_s)
        return of_ours(served, read_card(config.config, self._limits), own, tensors)

    async def verified(
        self, model: RemoteModel, server: ServerChannel, others: Collection[ServerChannel], timeout_s: float
    ) -> RemoteModel:
        """Make sure, once for each connection, that the server serves this network; AnotherNetwork if not.

        Returns one that has taken its place, where that is asked and read alike and none of the ``others`` has the old.
        """
        if model.served in server.verified:
            return model
        try:
            found = await self.of(model.served, server, timeout_s)
        except ModelError as error:
            raise AnotherNetwork(str(error)) from error
        if found != model and not found.can_replace(model):
            raise AnotherNetwork(f"{model.served} takes or says something else there than it did: start anew to use it")
        if found != model and any(model.served in each.verified for each in others):
            raise AnotherNetwork(f"{model.served} is another network there than on other servers")
        server.verified.add(model.served)
        return found
