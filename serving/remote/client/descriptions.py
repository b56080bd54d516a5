"""Asks servers what they serve under a name, and makes sure that it stays the same network."""

from __future__ import annotations

from collections.abc import Collection

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.remote.client.calls import AnotherNetwork
from serving.remote.client.remote_model import RemoteModel, of_others, of_ours, read_tensors
from serving.remote.client.server_channel import ServerChannel
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import MODEL_CONFIG, MODEL_METADATA
from serving.remote.protocol.wire_card import PLATFORM, read_card
from serving.variants.variant import parse, sized


class Descriptions:
    """Those of the networks of one backend."""

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
