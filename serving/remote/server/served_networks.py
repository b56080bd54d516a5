"""The networks of a catalogue that a backend serves: found by name, described once, fitted to pictures that come."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from serving.backend import Backend
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, read_weights
from serving.common.tensors import Array, TensorSpec
from serving.common.untrusted import printable
from serving.errors import Malformed, ModelError
from serving.graphs.surgery.reshape import specs_of
from serving.remote.protocol.wire_card import INPUT
from serving.remote.server.box_outputs import FLOAT, box_specs
from serving.remote.server.network_description import NetworkDescription
from serving.remote.server.refusals import BackendFull, NotServed
from serving.variants.artefacts import resolve
from serving.variants.variant import parse

LARGEST_RECTANGLE = 16
"""Times as many pixels as a detector's own input: a larger one would take all memory."""
UNKNOWN = TensorSpec(FLOAT, (None, None))
"""An output whose sizes do not follow from the graph."""


class ServedNetworks:
    """Used from one event loop."""

    def __init__(self, backend: Backend, catalogue: Catalogue, artefacts_dir: Path, most: int) -> None:
        """``most``: networks and variants that are described; further ones are refused."""
        self.backend, self._catalogue = backend, catalogue
        self._artefacts_dir, self._most = artefacts_dir, most
        self._known: dict[str, NetworkDescription] = {}
        self._one_at_a_time = asyncio.Lock()

    @property
    def known(self) -> dict[str, NetworkDescription]:
        """Those that were described so far."""
        return dict(self._known)

    async def find(self, name: str, version: str = "") -> NetworkDescription:
        """A network, or a variant of one; NotServed where there is none, ModelError where it cannot be described."""
        found = self._known.get(name)
        if found is None:
            async with self._one_at_a_time:
                found = self._known.get(name) or await self._described(name)
        found.check_version(version)
        return found

    def names(self) -> list[str]:
        """All networks of the catalogue, and variants that were described, or loaded as a placement has it."""
        return sorted({*self._catalogue.names(), *self._known, *self.backend.loaded})

    async def fitted(self, network: NetworkDescription, pictures: Array) -> ModelCard:
        """The card for pictures of this size; Malformed where the network does not take them."""
        own = network.card
        if pictures.dtype.name != "uint8" or pictures.ndim != 4 or pictures.shape[3] != 3 or not len(pictures):
            raise Malformed(_wrong(network, pictures))
        height, width = pictures.shape[1:3]
        if (width, height) == (own.input.width, own.input.height):
            return own
        most = LARGEST_RECTANGLE * own.input.width * own.input.height
        if own.task != "detect" or not 0 < width * height <= most:
            raise Malformed(_wrong(network, pictures))
        card = await self.backend.fitted(network.name, width, height, max(width, height))
        if (width, height) != (card.input.width, card.input.height):
            raise Malformed(_wrong(network, pictures))
        return card

    async def _described(self, name: str) -> NetworkDescription:
        if len(self._known) >= self._most:
            raise BackendFull(f"{len(self._known)} networks and variants are served, and no more are")
        try:
            known = parse(name).model in self._catalogue.names()
        except ModelError as error:
            raise NotServed(str(error)) from None
        if not known:
            raise NotServed(f"no network {printable(name, 80)!r} is served here")
        card = self.backend.card(name)
        outputs = box_specs(card) if card.task == "detect" else await asyncio.to_thread(partial(self._outputs, name))
        self._known[name] = found = NetworkDescription(name, card, outputs)
        return found

    def _outputs(self, name: str) -> dict[str, TensorSpec]:
        """Those of the graph in the card's order; what the runtime is given is verified when it is loaded."""
        source = resolve(name, self._catalogue, self._artefacts_dir)
        graph = read_weights(source.path, source.card)
        specs = specs_of(graph)
        return {output.name: specs.get(output.name, UNKNOWN) for output in graph.graph.output}


def _wrong(network: NetworkDescription, pictures: Array) -> str:
    given = " × ".join(map(str, pictures.shape))
    others = "; a detector also takes rectangles that its network can" if network.card.task == "detect" else ""
    return f"{network.name}: {INPUT} must be {network.input}{others}; was {pictures.dtype.name} {given}"
