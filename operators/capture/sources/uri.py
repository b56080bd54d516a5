"""The address of a stream, as a type that hides the credentials it holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote

from serving.common.redaction import HIDDEN, NAME_IN_URI, SURE, hide, redact, spellings
from serving.errors import SourceError

Kind = Literal["path", "rtsp", "http", "v4l2", "synthetic"]

_SCHEMES: dict[str, Kind] = {"rtsp": "rtsp", "rtsps": "rtsp", "http": "http", "https": "http"}
_DEFAULT_PORTS = {"80", "443", "554", "322"}
_SECRET_IN_PATH = re.compile(rf"(?<=[/&;])({NAME_IN_URI})=([^&;/\s]*)", re.IGNORECASE)
_SECRET_IN_QUERY = re.compile(rf"(?<=[?&;])({NAME_IN_URI})=([^&#\s]*)", re.IGNORECASE)
_ALLOWED = "a file, a directory of images, rtsp://, rtsps://, http://, https://, v4l2:N or synthetic:street?…"


class SourceUri:
    """A source's URI. ``str`` and ``repr`` show no credentials; only ``reveal`` does. ``SourceError`` if malformed."""

    __slots__ = ("_rest", "_scheme", "_text", "kind")

    kind: Kind

    def __init__(self, text: str) -> None:
        self._text = text
        scheme, separator, rest = text.partition("://")
        self._scheme = scheme.lower() if separator else ""
        self._rest = rest if separator else ""
        self.kind = self._classify()
        if self.kind in ("rtsp", "http"):
            hide(*self._unmistakable())
            self._check_authority()

    def reveal(self) -> str:
        """The URI with its credentials, for the one call that opens it."""
        return self._text

    @property
    def live(self) -> bool:
        """Whether frames come at their own pace and are lost if they are not read in time."""
        return self.kind in ("rtsp", "http", "v4l2")

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
        return str(self).join(self._without_secrets(part) for part in text.split(self._text))

    def _without_secrets(self, text: str) -> str:
        for secret in sorted(self._secrets(), key=len, reverse=True):
            pattern = spellings(secret)
            if secret in self._names():  # a user name may well be a part of other words
                pattern = rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"
            text = re.sub(pattern, HIDDEN, text, flags=re.IGNORECASE)
        return redact(text)

    def __str__(self) -> str:
        if self.kind not in ("rtsp", "http"):
            return self._text
        host, path_and_query = self._address()
        path, mark, query = path_and_query.partition("?")
        path = _SECRET_IN_PATH.sub(rf"\1={HIDDEN}", path)
        query = _SECRET_IN_QUERY.sub(rf"\1={HIDDEN}", mark + query)
        user = f"{HIDDEN}@" if self._userinfo() else ""
        return f"{self._scheme}://{user}{host}{path}{query}"

    def __repr__(self) -> str:
        return f"SourceUri({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceUri) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

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
        return {*self._passwords(), userinfo if len(userinfo) >= SURE or ":" in userinfo else ""}


def _is_host(text: str) -> bool:
    return re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s:@\[\]]+)(:\d{1,5})?", text) is not None
