"""Somebody who looks at the live page all the time, as a browser does: connects anew whenever the server is gone."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AGAIN_S = 1.0
TAKE = 1 << 16
SILENT_S = 30.0
"""A server that says nothing for so long is gone: it says something every quarter of a minute."""


@contextmanager
def viewer(port: int) -> Iterator[None]:
    """Look while the block runs."""
    over = threading.Event()
    thread = threading.Thread(target=_look, args=(port, over), name="viewer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _look(port: int, over: threading.Event) -> None:
    while not over.wait(AGAIN_S):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SILENT_S)
        try:
            connection.request("GET", "/live")
            answer = connection.getresponse()
            while not over.is_set() and answer.read1(TAKE):
                """What comes is not kept."""
        except (OSError, http.client.HTTPException):
            continue
        finally:
            connection.close()
