"""A reverse proxy on loopback that shows a server under a path of its own, as people put one before it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PASSED_ON = ("Host", "Authorization", "Origin", "Accept")


@contextmanager
def under(path: str, port: int) -> Iterator[str]:
    """The address, which ends with ``path``, of what a server on this port has at ``/``; requests keep their Host."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(path, port))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(path: str, port: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(path):
                self.send_error(404)
                return
            behind = HTTPConnection("127.0.0.1", port)
            with suppress(ConnectionError, HTTPException):  # one side has left
                behind.request(
                    "GET",
                    f"/{self.path.removeprefix(path)}",
                    headers={n: v for n, v in self.headers.items() if n in PASSED_ON},
                )
                answer = behind.getresponse()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name not in ("Transfer-Encoding", "Connection", "Content-Length"):
                        self.send_header(name, value)
                self.end_headers()
                while data := answer.read1():
                    self.wfile.write(data)
            behind.close()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    return Handler
