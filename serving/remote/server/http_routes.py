"""The protocol over HTTP: health, metadata, inference, the repository."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

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
MODEL = "/v2/models/{model}"
VERSION = MODEL + "/versions/{version}"


def http_routes(service: InferenceService, limits: WireLimits) -> list[web.RouteDef]:
    """All paths that are answered; errors are JSON, as the protocol says."""

    async def live(request: web.Request) -> web.Response:
        return _verdict((await service.server_live()).live)

    async def ready(request: web.Request) -> web.Response:
        return _verdict((await service.server_ready()).ready)

    async def metadata(request: web.Request) -> web.Response:
        return _json(await service.server_metadata())

    async def index(request: web.Request) -> web.Response:
        said = await service.repository_index(pb.RepositoryIndexRequest())
        return _answer(200, [plain(each) for each in said.models])

    async def load(request: web.Request) -> web.Response:
        return _json(await service.model_load(pb.RepositoryModelLoadRequest(model_name=request.match_info["model"])))

    async def unload(request: web.Request) -> web.Response:
        question = pb.RepositoryModelUnloadRequest(model_name=request.match_info["model"])
        return _json(await service.model_unload(question))

    async def model(request: web.Request) -> web.Response:
        return _json(await service.model_metadata(pb.ModelMetadataRequest(**_named(request))))

    async def model_ready(request: web.Request) -> web.Response:
        return _verdict((await service.model_ready(pb.ModelReadyRequest(**_named(request)))).ready)

    async def config(request: web.Request) -> web.Response:
        return _json((await service.model_config(pb.ModelConfigRequest(**_named(request)))).config)

    async def statistics(request: web.Request) -> web.Response:
        return _json(await service.model_statistics(pb.ModelStatisticsRequest(**_named(request))))

    routes = [
        web.get("/v2/health/live", _told(live)),
        web.get("/v2/health/ready", _told(ready)),
        web.get("/v2", _told(metadata)),
        web.get("/v2/models/stats", _told(statistics)),
        web.post("/v2/repository/index", _told(index)),
        web.post("/v2/repository/models/{model}/load", _told(load)),
        web.post("/v2/repository/models/{model}/unload", _told(unload)),
    ]
    for path in (MODEL, VERSION):
        routes += [
            web.get(path, _told(model)),
            web.get(f"{path}/ready", _told(model_ready)),
            web.get(f"{path}/config", _told(config)),
            web.get(f"{path}/stats", _told(statistics)),
            web.post(f"{path}/infer", _told(partial(infer, service, limits))),
        ]
    return routes


def _named(request: web.Request) -> dict[str, str]:
    return {"name": request.match_info.get("model", ""), "version": request.match_info.get("version", "")}


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


def _verdict(good: bool) -> web.Response:
    return web.Response(status=200 if good else 503)


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
    name, version = request.match_info["model"], request.match_info.get("version", "")
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
