"""The protocol's calls, typed for those who make them and for those who answer them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]
    Handler = grpc.RpcMethodHandler[Any, Any]

SERVICE = "inference.GRPCInferenceService"
Question = TypeVar("Question", bound=Message)
Reply = TypeVar("Reply", bound=Message)


@dataclass(frozen=True, slots=True)
class Rpc(Generic[Question, Reply]):
    name: str
    question: type[Question]
    reply: type[Reply]

    def on(self, channel: grpc.aio.Channel) -> grpc.aio.UnaryUnaryMultiCallable[Question, Reply]:
        """The call to make on a channel: ``await SERVER_LIVE.on(channel)(request, timeout=1.0)``.

        Its answer is None where the bytes that came are no reply.
        """
        return channel.unary_unary(
            f"/{SERVICE}/{self.name}",
            request_serializer=self.question.SerializeToString,
            response_deserializer=self._read,
        )

    def _read(self, data: bytes) -> Reply:
        with suppress(DecodeError):
            return self.reply.FromString(data)
        # gRPC gives its caller None for whatever a deserializer raises, and logs a traceback.
        return cast(Reply, None)

    def answered_by(self, behaviour: Callable[[Question, Context], Awaitable[Reply]]) -> tuple[str, Handler]:
        """The call's handler for ``handlers``; bytes that are no such question are refused before it is asked."""

        async def answer(data: bytes, context: Context) -> Reply:
            try:
                question = self.question.FromString(data)
            except DecodeError:
                line = f"these bytes are no {self.question.__name__}"
                return refused(context, grpc.StatusCode.INVALID_ARGUMENT, line, self.reply)
            return await behaviour(question, context)

        return self.name, grpc.unary_unary_rpc_method_handler(answer, None, self.reply.SerializeToString)


def refused(context: Context, status: grpc.StatusCode, line: str, reply: type[Reply]) -> Reply:
    """End a call with an error; the empty reply is not sent. An abort would be kept, with the frames that it went
    through and the message in them, until garbage is collected: gigabytes in a few calls.
    """
    context.set_code(status)
    context.set_details(line)
    return reply()


SERVER_LIVE = Rpc("ServerLive", pb.ServerLiveRequest, pb.ServerLiveResponse)
SERVER_READY = Rpc("ServerReady", pb.ServerReadyRequest, pb.ServerReadyResponse)
SERVER_METADATA = Rpc("ServerMetadata", pb.ServerMetadataRequest, pb.ServerMetadataResponse)
MODEL_READY = Rpc("ModelReady", pb.ModelReadyRequest, pb.ModelReadyResponse)
MODEL_METADATA = Rpc("ModelMetadata", pb.ModelMetadataRequest, pb.ModelMetadataResponse)
MODEL_CONFIG = Rpc("ModelConfig", pb.ModelConfigRequest, pb.ModelConfigResponse)
MODEL_STATISTICS = Rpc("ModelStatistics", pb.ModelStatisticsRequest, pb.ModelStatisticsResponse)
MODEL_INFER = Rpc("ModelInfer", pb.ModelInferRequest, pb.ModelInferResponse)
REPOSITORY_INDEX = Rpc("RepositoryIndex", pb.RepositoryIndexRequest, pb.RepositoryIndexResponse)
MODEL_LOAD = Rpc("RepositoryModelLoad", pb.RepositoryModelLoadRequest, pb.RepositoryModelLoadResponse)
MODEL_UNLOAD = Rpc("RepositoryModelUnload", pb.RepositoryModelUnloadRequest, pb.RepositoryModelUnloadResponse)
REGION_STATUS = Rpc("SystemSharedMemoryStatus", pb.SystemSharedMemoryStatusRequest, pb.SystemSharedMemoryStatusResponse)
REGION_REGISTER = Rpc(
    "SystemSharedMemoryRegister", pb.SystemSharedMemoryRegisterRequest, pb.SystemSharedMemoryRegisterResponse
)
REGION_UNREGISTER = Rpc(
    "SystemSharedMemoryUnregister", pb.SystemSharedMemoryUnregisterRequest, pb.SystemSharedMemoryUnregisterResponse
)


def handlers(answered: Iterable[tuple[str, Handler]]) -> grpc.GenericRpcHandler:
    """The calls that a server answers; the others are unimplemented."""
    return grpc.method_handlers_generic_handler(SERVICE, dict(answered))


def message_options(limits: WireLimits) -> list[tuple[str, int]]:
    """Options of a channel or a server: how long a message may be, either way."""
    room = limits.message_bytes + ENVELOPE_BYTES
    return [("grpc.max_send_message_length", room), ("grpc.max_receive_message_length", room)]


ENVELOPE_BYTES = 1 << 20
"""Room of a message beside its tensors."""
