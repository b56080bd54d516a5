"""The names of processes in a fleet."""

from __future__ import annotations

import secrets
import socket


def process_name() -> str:
    """This machine's name, or its pod's, with a few random digits: another one after every start."""
    host = "".join(each for each in socket.gethostname() if each.isascii() and each.isprintable())
    return f"{host[:200] or 'sluice'}/{secrets.token_hex(4)}"
