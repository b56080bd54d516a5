"""Where a process listens, and the secret that it asks for: read from options, refused where that would be unsafe."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.settings import first_line
from serving.common.redaction import hide
from serving.errors import BadInput
from serving.remote.peers import is_loopback

DEFAULT = "127.0.0.1:8470"
LEAST_SECRET = 16
"""Characters of a secret: nobody can try them all."""
MOST_SECRET = 1024
PLACE = r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
"""A host and, perhaps, a port."""


@dataclass(frozen=True)
class Listen:
    """An address, and the secret that readers must give; None: they need none."""

    host: str
    port: int
    """0: any that is free."""
    secret: str | None = field(default=None, repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def listen_on(text: str, secret: str | None) -> Listen:
    """Read ``HOST:PORT``; raises ``BadInput`` where it is none, or where others could read without a secret."""
    listen = parse_listen(text, secret)
    if secret is None and not listen.is_loopback:
        raise BadInput(
            f"--listen {text}: other machines could read everything: give a secret with --secret-file or "
            f"SLUICE_SERVE_SECRET, or listen on 127.0.0.1:{listen.port}"
        )
    return listen


def parse_listen(text: str, secret: str | None, option: str = "--listen") -> Listen:
    """Read ``HOST:PORT``, open to others or not; raises ``BadInput`` where it is none, and for a short secret."""
    match = re.fullmatch(PLACE, text.strip())
    if match is None or match["port"] is None or int(match["port"]) > 65_535:
        raise BadInput(f"{option} {text!r}: give HOST:PORT, such as {DEFAULT}")
    hide(secret)
    return Listen(match["host"].strip("[]"), int(match["port"]), checked_secret(secret))


def read_secret(file: Path) -> str:
    """The first line of a file; raises ``BadInput``."""
    return first_line(file, f"--secret-file {file}", MOST_SECRET + 2).strip()


def checked_secret(secret: str | None) -> str | None:
    """The same; raises ``BadInput`` for one that can be guessed."""
    if secret is not None and not LEAST_SECRET <= len(secret) <= MOST_SECRET:
        raise BadInput(
            f"the secret of --secret-file or SLUICE_SERVE_SECRET has {len(secret)} characters: give {LEAST_SECRET} to "
            f"{MOST_SECRET}, for instance those that `openssl rand -hex 16` prints"
        )
    return secret
