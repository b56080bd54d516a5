"""The protocol over HTTP: health, metadata, inference, the repository."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from google.protobuf.message import Message

from serving.errors import Malformed, SluiceError
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.json_messages import read_question, write_answer
from serving.remote.server.refusals import HTTP, refusal

log = logging.getLogger(__name__)

HttpCall = Callable[[web.Request], Awaitable[web.Response]]
MODEL = "/v2/models/{name}"
"""The fields of questions by their names."""


def http_routes(service: InferenceService, limits: WireLimits) -> list[web.RouteDef]:
    """All paths that are answered; errors are JSON, as the protocol says."""
    load, unload, index = pb.RepositoryModelLoadRequest, pb.RepositoryModelUnloadRequest, pb.RepositoryIndexRequest
    routes = [
        web.get("/v2/health/live", _asked(service.server_live, pb.ServerLiveRequest, _verdict)),
        web.get("/v2/health/ready", _asked(service.server_ready, pb.ServerReadyRequest, _verdict)),
        web.get("/v2", _asked(service.server_metadata, pb.ServerMetadataRequest)),
        web.get("/v2/models/stats", _asked(service.model_statistics, pb.ModelStatisticsRequest)),
        web.post("/v2/repository/index", _asked(service.repository_index, index, _listed)),
        web.post("/v2/repository/models/{model_name}/load", _asked(service.model_load, load)),
        web.post("/v2/repository/models/{model_name}/unload", _asked(service.model_unload, unload)),
    ]
    for path in (MODEL, f"{MODEL}/versions/{{version}}"):
        routes += [
            web.get(path, _asked(service.model_metadata, pb.ModelMetadataRequest)),
            web.get(f"{path}/ready", _asked(service.model_ready, pb.ModelReadyRequest, _verdict)),
            web.get(
                f"{path}/config", _asked(service.model_config, pb.ModelConfigRequest, lambda said: _json(said.config))
            ),
            web.get(f"{path}/stats", _asked(service.model_statistics, pb.ModelStatisticsRequest)),
            web.post(f"{path}/infer", _told(partial(infer, service, limits))),
        ]
    return routes


def _asked(
    ask: Callable[[Any], Awaitable[Any]],
    question: Callable[..., Message],
    shown: Callable[[Any], web.Response] | None = None,
) -> HttpCall:
    """A call whose question is in the path."""

    async def answer(request: web.Request) -> web.Response:
        return (shown or _json)(await ask(question(**request.match_info)))

    return _told(answer)


def _told(call: HttpCall) -> HttpCall:
    """The same, with errors as their status and a line."""

    async def answer(request: web.Request) -> web.Response:
        try:
            return await call(request)
        except SluiceError as error:
            status, line = refusal(error)
            return _answer(HTTP[status], {"error": line})
        except (web.HTTPException, ConnectionError):
            raise
        except Exception:
            log.exception("%s failed", request.match_info.route.resource)
            return _answer(500, {"error": "the request failed: the backend's log says why"})

    return answer


def _verdict(said: pb.ServerLiveResponse | pb.ServerReadyResponse | pb.ModelReadyResponse) -> web.Response:
    good = said.live if isinstance(said, pb.ServerLiveResponse) else said.ready
    return web.Response(status=200 if good else 503)


def _listed(said: pb.RepositoryIndexResponse) -> web.Response:
    return _answer(200, [plain(each) for each in said.models])


def _json(message: Message) -> web.Response:
    return _answer(200, plain(message))


def _answer(status: int, said: object) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(said), content_type="application/json")


JSON_BYTES = "Inference-Header-Content-Length"
"""The header that says how many bytes of a body are JSON, where bytes of tensors follow."""


async def infer(service: InferenceService, limits: WireLimits, request: web.Request) -> web.Response:
    """The outputs, as the client wants them; raises Malformed, and what ``InferenceService.infer`` does."""
    body = await request.read()
    said = request.headers.get(JSON_BYTES, str(len(body)))
    if not said.isdecimal() or not said.isascii() or len(said) > 12:
        raise Malformed(f"{JSON_BYTES} must be a number of bytes")
    name, version = request.match_info["name"], request.match_info.get("version", "")
    asked = read_question(name, version, body, int(said), limits)
    answer = await service.infer(asked.request, None)
    data, json_bytes = write_answer(answer, asked, limits)
    if json_bytes is None:
        return web.Response(body=data, content_type="application/json")
    return web.Response(body=data, content_type="application/octet-stream", headers={JSON_BYTES: str(json_bytes)})


def plain(message: Message) -> dict[str, object]:
    """The fields of a message; those that were not set have their defaults.

    >>> from serving.remote.protocol.inference_pb2 import ServerMetadataResponse
    >>> plain(ServerMetadataResponse(name="sluice", extensions=["statistics"]))
    {'name': 'sluice', 'version': '', 'extensions': ['statistics']}
    """
    found: dict[str, object] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        words = {} if field.enum_type is None else {each.number: each.name for each in field.enum_type.values}
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found[field.name] = {key: plain(each) for key, each in value.items()}
        elif field.is_repeated:
            found[field.name] = [_one(each, words) for each in value]
        else:
            found[field.name] = _one(value, words)
    return found


def _one(value: object, words: Mapping[int, str]) -> object:
    """``words``: of an enumeration, by number; none for other kinds."""
    if isinstance(value, Message):
        return plain(value)
    return words[value] if words and isinstance(value, int) else value
