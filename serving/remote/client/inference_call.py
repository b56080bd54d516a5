"""One inference as a message, and its answer: pictures in shared memory where the server is on this machine."""

from __future__ import annotations

from dataclasses import dataclass

import grpc
import grpc.aio

from serving.common.clock import Clock
from serving.common.tensors import Array
from serving.common.wire_use import counted
from serving.errors import Malformed
from serving.remote.client.calls import AnotherNetwork
from serving.remote.client.remote_model import RemoteModel
from serving.remote.client.server_channel import ServerChannel
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.asked import put_urgency, read_queue
from serving.remote.protocol.parameters import SharedPlace, WireLimits, set_parameter, values
from serving.remote.protocol.service import MODEL_INFER
from serving.remote.protocol.tensors import add_input, read_outputs
from serving.remote.protocol.wire_card import IDENTITY, LEAST_SCORE
from serving.scheduling.requests import Urgency


@dataclass(frozen=True, slots=True)
class InferenceCall:
    model: RemoteModel
    batch: Array
    urgency: Urgency
    limits: WireLimits
    clock: Clock
    """That of the deadline."""
    least_score: float | None = None

    async def to(self, server: ServerChannel, timeout_s: float) -> list[Array]:
        """Ask a server; raises what ``ServerChannel.ask`` does, and Malformed for an answer that is none."""
        lent = None if server.regions is None else await server.regions.lend(self.batch)
        if lent is None or server.regions is None:
            return self._read(await self._ask(server, None, timeout_s), server)
        ended = False
        try:
            place = SharedPlace(lent.name, 0, self.batch.nbytes)
            answer = await self._ask(server, place, timeout_s)
            ended = True
        except grpc.aio.AioRpcError as error:
            ended = error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
            if error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND):
                server.regions.lose(lent)  # the server may have forgotten it
                answer = await self._ask(server, None, timeout_s)
            else:
                raise
        finally:
            (server.regions.give_back if ended else server.regions.lose)(lent)
        return self._read(answer, server)

    async def _ask(self, server: ServerChannel, place: SharedPlace | None, timeout_s: float) -> pb.ModelInferResponse:
        question, use = self._question(place), counted()
        is_away = server.regions is None
        if use is not None:
            use.calls += 1
            use.bytes += question.ByteSize() if is_away else 0
        answer = await server.ask(MODEL_INFER, question, timeout_s)
        if use is not None and is_away:
            use.bytes += answer.ByteSize()
        return answer

    def _question(self, place: SharedPlace | None) -> pb.ModelInferRequest:
        question = pb.ModelInferRequest(model_name=self.model.served)
        add_input(question, self.model.input, self.batch, place)
        for name, _ in self.model.outputs:
            question.outputs.add(name=name)
        if self.model.identity is not None:  # others may refuse parameters that they do not know
            put_urgency(question.parameters, self.urgency, self.clock.monotonic_s())
            if self.least_score is not None:
                set_parameter(question.parameters, LEAST_SCORE, self.least_score)
        return question

    def _read(self, answer: pb.ModelInferResponse, server: ServerChannel) -> list[Array]:
        if self.model.identity is not None:
            self._heed(answer, server)
        wanted = {name for name, _ in self.model.outputs}  # some servers send all that they have
        return self.model.in_order(read_outputs(answer, self.limits, wanted), len(self.batch))

    def _heed(self, answer: pb.ModelInferResponse, server: ServerChannel) -> None:
        """Take in what our backend says beside the outputs; raises AnotherNetwork where another one has answered."""
        try:
            said = values(answer.parameters, self.limits)
            server.queue = read_queue(said) or 0
        except Malformed:
            server.queue = 0  # it says more of itself than is read here
            return
        if said.get(IDENTITY, self.model.identity) != self.model.identity:
            server.verified.discard(self.model.served)
            raise AnotherNetwork(f"{self.model.served} is another network there than it was")
