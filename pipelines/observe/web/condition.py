"""Whether a process is alive and at work, as ``/healthz`` and ``/readyz`` say; and ``/`` where it has no page."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from operators.observer import Observer

STARTING = "the process is starting"
INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Sluice</title></head>
<body><h1>Sluice</h1>
<p>This process serves its <a href="/metrics">metrics</a>, for Prometheus, and says whether it
<a href="/healthz">is well</a> and <a href="/readyz">is at work</a>.</p>
<p>The live page is served by <code>sluice serve</code>, for all streams, and by <code>sluice run --serve</code>, for
its own.</p>
</body></html>
"""


class Condition(Observer):
    """Kept by a worker's own hooks, or set from outside; read from any thread."""

    def __init__(self) -> None:
        self.problem: str | None = None
        """Why the process makes no progress; None while it is well."""
        self.waits_for: str | None = STARTING
        """Why it is not at work yet; None while it is."""

    @property
    def unready(self) -> str | None:
        """Why it should be sent no work; None if it should."""
        return self.waits_for or self.problem

    def worker_waits(self, reason: str) -> None:
        self.waits_for = reason

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        self.waits_for, self.problem = None, problem

    def broker_polled(self, away: str | None) -> None:
        """Note why the broker does not answer; None where it does."""
        self.waits_for, self.problem = away, None


def health_routes(condition: Condition) -> list[web.RouteDef]:
    """``/healthz`` and ``/readyz``: 200, or 503 with the reason in one line."""

    async def healthz(request: web.Request) -> web.Response:
        return _verdict(condition.problem)

    async def readyz(request: web.Request) -> web.Response:
        return _verdict(condition.unready)

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


def index_routes() -> list[web.RouteDef]:
    """``/`` of a process that has no page: what there is in its place."""

    async def index(request: web.Request) -> web.Response:
        return web.Response(text=INDEX, content_type="text/html")

    return [web.get("/", index)]


def _verdict(problem: str | None) -> web.Response:
    return web.Response(status=200 if problem is None else 503, text=f"{problem or 'ok'}\n")
