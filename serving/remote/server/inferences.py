"""One inference from its message to its answer: pictures as bytes in, outputs or boxes out, in the backend's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from serving.catalogue.cards import ModelCard
from serving.common.clock import Clock
from serving.common.tensors import Array
from serving.common.threads import in_thread
from serving.common.untrusted import printable
from serving.errors import Malformed
from serving.preprocess import from_bytes
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.asked import QUEUE, read_urgency
from serving.remote.protocol.parameters import Value, number, read_place, set_parameter, values
from serving.remote.protocol.tensors import add_output, read_inputs
from serving.remote.protocol.wire_card import IDENTITY, INPUT, LEAST_SCORE
from serving.remote.server.admission import FLOAT_BYTES, Admission, ServerLimits
from serving.remote.server.box_outputs import BoxReader, packed
from serving.remote.server.network_description import NetworkDescription
from serving.remote.server.registered_regions import RegionsOfOne
from serving.remote.server.served_networks import ServedNetworks
from serving.remote.session_meter import SessionMeter
from serving.scheduling.requests import Urgency

AT_ONCE = 1 << 19
"""Numbers that are read or written in about the time that it takes to use a thread."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inferences:
    """Answers requests; used from one event loop."""

    networks: ServedNetworks
    read_boxes: BoxReader
    admission: Admission
    limits: ServerLimits
    clock: Clock
    meter: SessionMeter

    async def answer(
        self, network: NetworkDescription, request: pb.ModelInferRequest, regions: RegionsOfOne | None
    ) -> tuple[int, pb.ModelInferResponse]:
        """The number of pictures, and the outputs that were asked for.

        ``regions``: the shared memory of this client; None: of another machine. Raises Malformed for a request that is
        none, BackendFull where there is no room for it, and what ``Backend.infer`` does.
        """
        wire = self.limits.wire
        asked = values(request.parameters, wire)
        urgency = read_urgency(asked, self.clock.monotonic_s())
        pictures = _only(read_inputs(request, wire, None if regions is None else regions.read))
        wanted = _wanted(network, request)
        items = len(pictures) if pictures.ndim else 0
        card = await self.networks.fitted(network, pictures)  # what no network takes is no load, what has no room is
        with self._counted(network, urgency, items), self.admission.room(items, pictures.size * FLOAT_BYTES):
            batch = await _beside(partial(from_bytes, card.input, pictures), pictures.size)
            outputs = await self.networks.backend.infer(network.name, batch, urgency)
            arrays = await self._told(network, card, outputs, asked)
            queue = self.admission.items - items
        response = pb.ModelInferResponse(model_name=network.name, model_version=network.card.version, id=request.id)
        set_parameter(response.parameters, QUEUE, queue)
        set_parameter(response.parameters, IDENTITY, network.card.identity)
        for name, output in wanted.items():
            self._put(response, name, arrays[name], output, regions)
        return items, response

    @contextmanager
    def _counted(self, network: NetworkDescription, urgency: Urgency, items: int) -> Iterator[None]:
        asked, answered = self.meter.asked(network.name, urgency, items, self.clock.monotonic_s()), False
        try:
            yield
            answered = True
        finally:
            asked.ended(self.clock.monotonic_s(), answered)

    async def _told(
        self, network: NetworkDescription, card: ModelCard, outputs: list[Array], asked: Mapping[str, Value]
    ) -> dict[str, Array]:
        if card.task != "detect":
            return dict(zip(network.outputs, outputs, strict=True))
        least = number(asked, LEAST_SCORE, 0.0, 1.0)
        read = partial(self.read_boxes, card, outputs, least)
        return packed(card, await _beside(read, sum(each.size for each in outputs)))

    def _put(
        self,
        response: pb.ModelInferResponse,
        name: str,
        array: Array,
        output: pb.ModelInferRequest.InferRequestedOutputTensor,
        regions: RegionsOfOne | None,
    ) -> None:
        place = read_place(output.parameters, f"output {name}", self.limits.wire)
        if place is not None:
            if regions is None:
                raise Malformed(f"output {name}: shared memory is for clients of this machine")
            regions.write(place, array)
            place = place._replace(size=array.nbytes)
        add_output(response, name, array, place)


async def _beside(work: Callable[[], T], numbers: int) -> T:
    """Do the work without blocking the event loop for long."""
    return work() if numbers <= AT_ONCE else await in_thread(work)


def _only(inputs: Mapping[str, Array]) -> Array:
    if list(inputs) != [INPUT]:
        given = ", ".join(inputs) or "none"
        raise Malformed(f"a network here has one input, {INPUT}; given was {printable(given, 80)}")
    return inputs[INPUT]


def _wanted(
    network: NetworkDescription, request: pb.ModelInferRequest
) -> dict[str, pb.ModelInferRequest.InferRequestedOutputTensor]:
    """The outputs that are asked for by name; all where none is."""
    if not request.outputs:
        return {name: pb.ModelInferRequest.InferRequestedOutputTensor(name=name) for name in network.outputs}
    wanted = {each.name: each for each in request.outputs}
    if len(wanted) != len(request.outputs):
        raise Malformed("an output is asked for twice")
    for name in wanted:
        if name not in network.outputs:
            raise Malformed(f"no output {printable(name, 80)!r}; there is {', '.join(network.outputs)}")
    return wanted
