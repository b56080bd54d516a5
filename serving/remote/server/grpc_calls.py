"""The protocol's calls over gRPC: every error becomes a status and one line, every call ends in one of both."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import grpc
from google.protobuf.message import Message

from serving.errors import SluiceError
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol import service as rpcs
from serving.remote.protocol.service import Rpc, handlers
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.refusals import refusal
from serving.remote.server.region_calls import RegionCalls

if TYPE_CHECKING:
    from serving.remote.protocol.service import Context, Handler

log = logging.getLogger(__name__)

Question = TypeVar("Question", bound=Message)
Reply = TypeVar("Reply", bound=Message)


def inference_handlers(service: InferenceService, regions: RegionCalls) -> grpc.GenericRpcHandler:
    """All calls that are answered."""

    async def infer(question: pb.ModelInferRequest, peer: str) -> pb.ModelInferResponse:
        return await service.infer(question, regions.of(peer))

    return handlers(
        [
            _answered(rpcs.SERVER_LIVE, lambda question, peer: service.server_live()),
            _answered(rpcs.SERVER_READY, lambda question, peer: service.server_ready()),
            _answered(rpcs.SERVER_METADATA, lambda question, peer: service.server_metadata()),
            _answered(rpcs.MODEL_READY, lambda question, peer: service.model_ready(question)),
            _answered(rpcs.MODEL_METADATA, lambda question, peer: service.model_metadata(question)),
            _answered(rpcs.MODEL_CONFIG, lambda question, peer: service.model_config(question)),
            _answered(rpcs.MODEL_STATISTICS, lambda question, peer: service.model_statistics(question)),
            _answered(rpcs.MODEL_INFER, infer),
            _answered(rpcs.REPOSITORY_INDEX, lambda question, peer: service.repository_index(question)),
            _answered(rpcs.MODEL_LOAD, lambda question, peer: service.model_load(question)),
            _answered(rpcs.MODEL_UNLOAD, lambda question, peer: service.model_unload(question)),
            _answered(rpcs.REGION_STATUS, regions.status),
            _answered(rpcs.REGION_REGISTER, regions.register),
            _answered(rpcs.REGION_UNREGISTER, regions.unregister),
        ]
    )


def _answered(rpc: Rpc[Question, Reply], behaviour: Callable[[Question, str], Awaitable[Reply]]) -> tuple[str, Handler]:
    """One call; ``behaviour`` is given the question and the address that it comes from."""

    async def answer(question: Question, context: Context) -> Reply:
        try:
            return await behaviour(question, context.peer())
        except SluiceError as error:
            status, line = refusal(error)
            await context.abort(grpc.StatusCode[status], line)
        except Exception:
            log.exception("%s failed", rpc.name)
            await context.abort(grpc.StatusCode.INTERNAL, "the call failed: the backend's log says why")

    return rpc.answered_by(answer)
