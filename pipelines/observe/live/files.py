"""The files of the page: a fixed list, read once; no path of a request ever reaches the disk."""

from __future__ import annotations

from importlib.resources import files

from aiohttp import web

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def file_routes() -> list[web.RouteDef]:
    """``/`` and ``/static/…``."""
    folder = files("pipelines.observe.live") / "static"
    known = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.split(".")[-1] in TYPES}

    async def index(request: web.Request) -> web.Response:
        return _answer("index.html", known["index.html"])

    async def static(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in known:
            raise web.HTTPNotFound
        return _answer(name, known[name])

    return [web.get("/", index), web.get("/static/{name}", static)]


def _answer(name: str, content: bytes) -> web.Response:
    return web.Response(body=content, headers={"Content-Type": TYPES[name.rpartition(".")[2]]})
