"""A real web server that takes notifications, in a thread of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """Where it is, and what it was sent: headers and JSON of each request."""

    url: str = ""
    told: list[tuple[dict[str, str], dict[str, Any], bytes]] = field(default_factory=list)
    status: int = 204

    def ids(self) -> list[str]:
        """The ids of what it has taken, in order."""
        return [note["id"] for _, note, _ in self.told]

    def of(self, stream: str) -> list[dict[str, Any]]:
        """The notifications about one stream."""
        return [note for _, note, _ in self.told if note["stream"] == stream]


@contextmanager
def hooked(port: int = 0) -> Iterator[Hook]:
    """Take notifications until the block ends; those that are answered with an error are not noted."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if hook.status < 300:
                hook.told.append((dict(self.headers), json.loads(body), body))
            self.send_response(hook.status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the tests' output to the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
