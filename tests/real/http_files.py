"""A real HTTP server of files on loopback that can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class FileServer:
    """What it serves and how; ``requests`` notes the path of every request."""

    files: dict[str, bytes]
    """By path, beginning with ``/``."""
    url: str = ""
    cut_after: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers is cut; then answers are whole."""
    statuses: list[int] = field(default_factory=list)
    """Statuses of the next answers, in place of a file."""
    announce_length: bool = True
    requests: list[str] = field(default_factory=list)


@contextmanager
def serve_files(files: dict[str, bytes], **behaviour: Any) -> Iterator[FileServer]:
    """Serve on a free port until the block ends."""
    told = FileServer(files, **behaviour)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(told))
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(told: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.requests.append(self.path)
            data = told.files.get(self.path)
            if told.statuses:
                self.send_error(told.statuses.pop(0))
            elif data is None:
                self.send_error(404)
            else:
                self._send(data)

        def _send(self, data: bytes) -> None:
            self.send_response(200)
            if told.announce_length:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            end = told.cut_after.pop(0) if told.cut_after else len(data)
            self.wfile.write(data[:end])
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the tests' output to the tests."""

    return Handler
