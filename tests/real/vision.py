"""A real web server that speaks chat completions, in a thread of its own; a test says what its model says."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import cv2
import numpy as np

JPEG = "data:image/jpeg;base64,"


@dataclass(frozen=True)
class Said:
    """One answer: text of the model, or a whole body."""

    text: str = ""
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    logprobs: list[dict[str, Any]] | None = None
    cut: int | None = None
    """Bytes of the body after which the connection is closed; the headers promise all of it."""
    endless_s: float | None = None
    """The body comes again and again, in chunks, so many seconds apart, until the client has seen enough."""

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
        if self.logprobs is not None:
            choice["logprobs"] = {"content": self.logprobs}
        usage = {"prompt_tokens": 400, "completion_tokens": 5, "total_tokens": 405}
        return json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


@dataclass
class Asked:
    """One request."""

    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def jpeg(self) -> bytes:
        url = self.body["messages"][-1]["content"][-1]["image_url"]["url"]
        assert url.startswith(JPEG)
        return base64.b64decode(url.removeprefix(JPEG))

    @property
    def picture(self) -> np.ndarray:
        return cv2.imdecode(np.frombuffer(self.jpeg, np.uint8), cv2.IMREAD_COLOR)

    @property
    def form(self) -> str:
        """How it wants to be answered."""
        return "schema" if "response_format" in self.body else "choice" if "guided_choice" in self.body else "text"


@dataclass
class Vision:
    """Where it is, what it was asked, and how it answers."""

    url: str = ""
    answer: Callable[[Asked], Said] = lambda asked: Said('{"label": "car"}')
    models: Said = field(default_factory=lambda: Said(body=b'{"object": "list", "data": [{"id": "tiny-vl"}]}'))
    asked: list[Asked] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)
    closing: threading.Event = field(default_factory=threading.Event)

    async def has_been_asked(self, times: int = 1) -> None:
        """Wait until so many requests have come."""

        def wait() -> None:
            with self.came:
                assert self.came.wait_for(lambda: len(self.asked) >= times, 30), "waited in vain for a request"

        await asyncio.to_thread(wait)


@contextmanager
def vision(answer: Callable[[Asked], Said] | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Vision]:
    """Answer questions about pictures until the block ends."""
    server = Vision()
    if answer is not None:
        server.answer = answer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(server.models if self.path == "/v1/models" else Said(status=404, body=b""))

        def do_POST(self) -> None:
            asked = Asked(dict(self.headers), json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            with server.came:
                server.asked.append(asked)
                server.came.notify_all()
            self._send(server.answer(asked) if self.path == "/v1/chat/completions" else Said(status=404, body=b""))

        def _send(self, said: Said) -> None:
            content = said.content()
            self.send_response(said.status)
            if said.endless_s is None:
                self.send_header("Content-Length", str(len(content)))
            else:
                self.send_header("Transfer-Encoding", "chunked")
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                while said.endless_s is not None and not server.closing.wait(said.endless_s):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
                self.wfile.write(content[: said.cut])
                self.close_connection = self.close_connection or said.cut is not None
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has seen enough

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the tests' output to the tests."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
    server.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        thread.join()
        http.server_close()
