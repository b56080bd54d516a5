"""The paths of the protocol over HTTP: health, metadata, inference, the repository."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
from aiohttp import web
from google.protobuf.message import Message

from serving.errors import SluiceError
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.limits import WireLimits
from serving.remote.server.http.http_inference import infer
from serving.remote.server.http.plain_messages import plain
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.refusals import HTTP, refusal

log = logging.getLogger(__name__)

HttpCall = Callable[[web.Request], Awaitable[web.Response]]
MODEL = "/v2/models/{model}"
VERSION = MODEL + "/versions/{version}"


def http_routes(service: InferenceService, limits: WireLimits) -> list[web.RouteDef]:
    """All paths that are answered; errors are JSON, as the protocol says."""
    calls = HttpCalls(service)
    routes = [
        web.get("/v2/health/live", _told(calls.live)),
        web.get("/v2/health/ready", _told(calls.ready)),
        web.get("/v2", _told(calls.metadata)),
        web.get("/v2/models/stats", _told(calls.statistics)),
        web.post("/v2/repository/index", _told(calls.index)),
        web.post("/v2/repository/models/{model}/load", _told(calls.load)),
        web.post("/v2/repository/models/{model}/unload", _told(calls.unload)),
    ]
    for path in (MODEL, VERSION):
        routes += [
            web.get(path, _told(calls.model)),
            web.get(f"{path}/ready", _told(calls.model_ready)),
            web.get(f"{path}/config", _told(calls.config)),
            web.get(f"{path}/stats", _told(calls.statistics)),
            web.post(f"{path}/infer", _told(partial(infer, service, limits))),
        ]
    return routes


class HttpCalls:
    """Each gives a request's path to the service, and its message back as JSON."""

    def __init__(self, service: InferenceService) -> None:
        self._service = service

    async def live(self, request: web.Request) -> web.Response:
        return _verdict((await self._service.server_live()).live)

    async def ready(self, request: web.Request) -> web.Response:
        return _verdict((await self._service.server_ready()).ready)

    async def metadata(self, request: web.Request) -> web.Response:
        return _json(await self._service.server_metadata())

    async def model(self, request: web.Request) -> web.Response:
        name, version = _named(request)
        return _json(await self._service.model_metadata(pb.ModelMetadataRequest(name=name, version=version)))

    async def model_ready(self, request: web.Request) -> web.Response:
        name, version = _named(request)
        return _verdict((await self._service.model_ready(pb.ModelReadyRequest(name=name, version=version))).ready)

    async def config(self, request: web.Request) -> web.Response:
        name, version = _named(request)
        return _json((await self._service.model_config(pb.ModelConfigRequest(name=name, version=version))).config)

    async def statistics(self, request: web.Request) -> web.Response:
        name, version = _named(request)
        return _json(await self._service.model_statistics(pb.ModelStatisticsRequest(name=name, version=version)))

    async def index(self, request: web.Request) -> web.Response:
        said = await self._service.repository_index(pb.RepositoryIndexRequest())
        return _answer(200, [plain(each) for each in said.models])

    async def load(self, request: web.Request) -> web.Response:
        name, _ = _named(request)
        return _json(await self._service.model_load(pb.RepositoryModelLoadRequest(model_name=name)))

    async def unload(self, request: web.Request) -> web.Response:
        name, _ = _named(request)
        return _json(await self._service.model_unload(pb.RepositoryModelUnloadRequest(model_name=name)))


def _named(request: web.Request) -> tuple[str, str]:
    return request.match_info.get("model", ""), request.match_info.get("version", "")


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
