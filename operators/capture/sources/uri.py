"""The address of a stream, as a type that hides the credentials it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from os.path import exists, isdir
from pathlib import Path
from typing import Final, Literal
from urllib.parse import parse_qsl, quote, unquote

from serving.common.redaction import HIDDEN, NAME_IN_URI, SURE, hide, redact, spellings
from serving.errors import SourceError

Kind = Literal["path", "rtsp", "http", "v4l2", "synthetic"]

IMAGE_SUFFIXES: Final = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp"})

_SCHEMES: dict[str, Kind] = {"rtsp": "rtsp", "rtsps": "rtsp", "http": "http", "https": "http"}
_DEFAULT_PORTS = {"80", "443", "554", "322"}
_SECRET_IN_PATH = re.compile(rf"(?<=[/&;])({NAME_IN_URI})=([^&;/\s]*)", re.IGNORECASE)
_SECRET_IN_QUERY = re.compile(rf"(?<=[?&;])({NAME_IN_URI})=([^&#\s]*)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\$\{(file:[^${}]{1,1000}|[A-Za-z_][A-Za-z0-9_]{0,99})\}")
_HOLE = 0xE000
"""The first of Unicode's private characters: each stands for a placeholder while an address is taken apart."""
_ALLOWED = "a file, a directory of images, rtsp://, rtsps://, http://, https://, v4l2:N or synthetic:street?…"


Fill = Callable[[str], str]
"""Finds what a placeholder stands for, by ``NAME`` or ``file:PATH``; raises ``BadInput`` where there is nothing."""


class SourceUri:
    """A source's URI. ``str`` and ``repr`` show no credentials; only ``reveal`` does. ``SourceError`` if malformed."""

    __slots__ = ("_fill", "_placeholders", "_rest", "_revealed", "_scheme", "_text", "kind")

    kind: Kind

    def __init__(self, text: str, fill: Fill | None = None) -> None:
        """With ``fill`` the address of a camera may have placeholders, ``${NAME}`` or ``${file:PATH}``, after ``://``;
        they are filled when it is revealed, and shown as they are."""
        self._fill = fill
        self._revealed: SourceUri | None = None
        self._placeholders: list[str] = []
        self._text = text if fill is None else _PLACEHOLDER.sub(self._hole, text)
        scheme, separator, rest = self._text.partition("://")
        self._scheme = scheme.lower() if separator else ""
        self._rest = rest if separator else ""
        self._text = (self._scheme or scheme) + separator + rest  # FFmpeg knows small letters alone
        self.kind = self._classify()
        if fill is not None:
            self._check_placeholders()
        if self.kind in ("rtsp", "http"):
            hide(*self._unmistakable())
            self._check_authority()

    def reveal(self) -> str:
        """The URI with its credentials, for the one call that opens it; ``BadInput`` where a placeholder has none."""
        if self._fill is None or not self._placeholders:
            return self._text
        if self._revealed is None:
            self._revealed = SourceUri(self._filled(self._fill))
        return self._revealed.reveal()

    def reveal_to_ffmpeg(self) -> str:
        """The same with a colon behind a user without password: FFmpeg shows a server no other user."""
        text, user = self.reveal(), (self._revealed or self)._userinfo()
        return text if not user or ":" in user else text.replace(f"{user}@", f"{user}:@", 1)

    def with_secrets_replaced(self, by: Callable[[str], str]) -> str:
        """The URI with ``by(secret)`` in place of its password and of secrets among its parameters.

        A user without password may be a token, and counts as one."""
        if self.kind not in ("rtsp", "http"):
            return self._text
        user, separator, password = self._userinfo().partition(":")
        who = f"{user}:{by(unquote(password))}@" if separator else f"{by(unquote(user))}@" if user else ""
        host, rest = self._address()
        path, mark, query = rest.partition("?")
        path = _SECRET_IN_PATH.sub(lambda found: f"{found[1]}={by(found[2])}", path)
        query = _SECRET_IN_QUERY.sub(lambda found: f"{found[1]}={by(found[2])}", mark + query)
        return f"{self._scheme}://{who}{host}{path}{query}"

    @property
    def live(self) -> bool:
        """Whether frames come at their own pace and are lost if they are not read in time."""
        return self.kind in ("rtsp", "http", "v4l2")

    @property
    def of_pictures(self) -> bool:
        """Whether it is an image, or a folder of them: single pictures, of which each shows something else.

        What is not on this machine is a folder if its name has no suffix.
        """
        if self.kind != "path":
            return False
        path, suffix = self.path, self.path.suffix.lower()
        return isdir(path) or suffix in IMAGE_SUFFIXES or not (suffix or exists(path))

    @property
    def path(self) -> Path:
        """The file or directory of a ``path``."""
        if self._scheme == "file":
            return Path(unquote(re.sub(r"^localhost(?=/)", "", self._rest)))
        return Path(self._text.removeprefix("file:"))

    @property
    def device(self) -> str:
        """The device file of ``v4l2``."""
        name = self._text.partition(":")[2]
        return f"/dev/video{name}" if name.isdigit() else name

    @property
    def generator(self) -> tuple[str, dict[str, str]]:
        """Name and options of the generator of ``synthetic``."""
        name, _, options = self._text.partition(":")[2].partition("?")
        return name, dict(parse_qsl(options, keep_blank_values=True))

    @property
    def stream_id(self) -> str:
        """A default name for the stream, made of nothing secret: ``car-detection``, ``10-0-0-5-cam1``, ``v4l2-0``."""
        if self.kind == "path":
            path = self.path.resolve()
            name = path.name if path.is_dir() else path.stem
        elif self.kind == "synthetic":
            generator, options = self.generator
            name = f"{generator} {options.get('seed', '')}"
        elif self.kind == "v4l2":
            name = self._text
        else:
            host, path_and_query = self._address()
            address, _, port = host.rpartition(":")
            name = f"{address if port in _DEFAULT_PORTS and address else host} {path_and_query.partition('?')[0]}"
            name = _SECRET_IN_PATH.sub("", name)
        return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "stream"

    def redact(self, text: str) -> str:
        """Remove this URI's credentials from ``text``, however they are spelled."""
        # The whole URI is replaced first, so that a user called "camera" does not hide the path /camera too.
        known = self._revealed or self
        return str(self).join(known._without_secrets(part) for part in text.split(known._text))

    def _without_secrets(self, text: str) -> str:
        for secret in sorted(self._secrets(), key=len, reverse=True):
            pattern = spellings(secret)
            if secret in self._names():  # a user name may well be a part of other words
                pattern = rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"
            text = re.sub(pattern, HIDDEN, text, flags=re.IGNORECASE)
        return redact(text)

    def __str__(self) -> str:
        shown = dict(enumerate(self._placeholders, _HOLE))
        if self.kind not in ("rtsp", "http"):
            return self._text.translate(shown)
        host, path_and_query = self._address()
        path, mark, query = path_and_query.partition("?")
        path = _SECRET_IN_PATH.sub(rf"\1={HIDDEN}", path)
        query = _SECRET_IN_QUERY.sub(rf"\1={HIDDEN}", mark + query)
        user = f"{HIDDEN}@" if self._userinfo() else ""
        return f"{self._scheme}://{user}{host}{path}{query}".translate(shown)

    def __repr__(self) -> str:
        return f"SourceUri({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceUri) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def _written(self) -> tuple[str, ...]:
        return self._text, *self._placeholders

    def _hole(self, placeholder: re.Match[str]) -> str:
        self._placeholders.append(placeholder[0])
        return chr(_HOLE + len(self._placeholders) - 1)

    def _filled(self, fill: Fill) -> str:
        """The address with what its placeholders stand for; in user and password that is percent-encoded."""
        values = {_HOLE + n: fill(each[2:-1]) for n, each in enumerate(self._placeholders)}
        hide(*values.values())
        end = len(self._scheme) + len("://") + len(self._userinfo())
        encoded = {hole: quote(value, safe="") for hole, value in values.items()}
        return self._text[:end].translate(encoded) + self._text[end:].translate(values)

    def _check_placeholders(self) -> None:
        if "${" in self._text:
            raise SourceError(f"source {self}: write ${{NAME}} or ${{file:PATH}} for a secret", "invalid_uri")
        if self._placeholders and self.kind not in ("rtsp", "http"):
            raise SourceError(
                f"source {self}: {self._placeholders[0]} stands only in the address of a camera, after rtsp:// or http://",
                "invalid_uri",
            )

    def _classify(self) -> Kind:
        if self._scheme in _SCHEMES:
            return _SCHEMES[self._scheme]
        if self._scheme and self._scheme != "file":
            raise SourceError(f"source {self._scheme}://…: unknown kind, allowed: {_ALLOWED}", "invalid_uri")
        if self._text.startswith("synthetic:"):
            return "synthetic"
        if re.fullmatch(r"v4l2:(\d+|/dev/\S+)", self._text):
            return "v4l2"
        if not self._text or self._text.startswith("v4l2:") or "\0" in self._text:
            raise SourceError(f"source {self._text!r}: not understood, allowed: {_ALLOWED}", "invalid_uri")
        return "path"

    def _userinfo(self) -> str:
        """Return what stands before the host; with unescaped ``/?#@`` in a password it may be more than that."""
        authority = re.split(r"[/?#]", self._rest, maxsplit=1)[0]
        exact = self.kind == "http" and ("@" in authority or _is_host(authority))
        return (authority if exact else self._rest).rpartition("@")[0]

    def _address(self) -> tuple[str, str]:
        """Host with port, and the rest from the first slash or question mark on."""
        userinfo = self._userinfo()
        address = self._rest[len(userinfo) + 1 :] if userinfo else self._rest.removeprefix("@")
        end = re.search(r"[/?#]", address)
        return (address[: end.start()], address[end.start() :]) if end else (address, "")

    def _check_authority(self) -> None:
        if re.search(r"[/?#@\s]", self._userinfo()):
            raise SourceError(
                f"source {self}: percent-encode special characters in the user name and password (@ is %40, / is %2F)",
                "invalid_uri",
            )
        if not _is_host(self._address()[0]):
            raise SourceError(f"source {self}: no valid host and port after ://", "invalid_uri")

    def _names(self) -> set[str]:
        user = self._userinfo().partition(":")[0]
        return {user, unquote(user)}

    def _passwords(self) -> set[str]:
        path, _, query = self._address()[1].partition("?")
        found = [value for _, value in _SECRET_IN_PATH.findall(path) + _SECRET_IN_QUERY.findall("?" + query)]
        return {*found, self._userinfo().partition(":")[2]}

    def _secrets(self) -> set[str]:
        if self.kind not in ("rtsp", "http"):
            return set()
        passwords = self._passwords()
        return (passwords | set(map(unquote, passwords)) | self._names()) - {""}

    def _unmistakable(self) -> set[str]:
        """Return the words to hide wherever they occur; a short user name may be a word that logs need."""
        userinfo = self._userinfo()
        words = {*self._passwords(), userinfo if len(userinfo) >= SURE or ":" in userinfo else ""}
        holes = {chr(_HOLE + n) for n in range(len(self._placeholders))}
        return {word for word in words if not holes & set(word)}


def _is_host(text: str) -> bool:
    return re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s:@\[\]]+)(:\d{1,5})?", text) is not None
