"""A request for inference over HTTP: its body, and the answer to it."""

from __future__ import annotations

from aiohttp import web

from serving.errors import Malformed
from serving.remote.protocol.limits import WireLimits
from serving.remote.server.http.json_messages import read_question, write_answer
from serving.remote.server.inference_service import InferenceService

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
