"""Takes secrets out of text: those that this process was given, and whatever looks like one.

A reader of passwords calls ``hide`` with them; a writer of text for people passes it through ``redact``.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
SHORT = 4
"""A secret of fewer characters is hidden only where it stands alone: else it would eat letters of other words."""
SURE = 8
"""A run of base64 or hexadecimal digits this long does not occur by chance."""
SECRET_VARIABLE = re.compile(r"PASS|SECRET|TOKEN|CREDENTIAL|PRIVATE|KEY$", re.IGNORECASE)

_NAME = r"[\w.-]*(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credential|api[_-]?key|private[_-]?key)s?[\w.-]*"
_SAID = "|".join(sorted({re.escape(os.strerror(number)) for number in errno.errorcode}))
_OURS = "cannot|is|it is|the environment variable|a secret"
_HARMLESS = rf"(?:\d{{1,4}}|None|True|False|null|true|false|{_OURS}|{_SAID})\b|[\[({{]"
"""Values of such a name that are none: numbers of a protocol, switches, lists (which hide their members), and what is
said of a file or a key with such a name."""
_KEY = r"(?<=\]\.)[\w.]+: "
"""A key in a file, as our errors name it: ``sinks[0].password: `` is followed by what is wrong with it."""
_STRING = r"""[bru]{0,2}"(?:\\.|[^"\\])*"?|[bru]{0,2}'(?:\\.|[^'\\])*'?"""
NAME_IN_URI = r"[\w.-]*(?:pass|pwd|token|secret|key|auth|sig|cred|session|user|login)[\w.-]*"
"""Parameters of a URI whose value nobody should see."""
_ESCAPED = {"\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s'\"<>]*@", re.IGNORECASE), rf"\1{HIDDEN}@"),
    (re.compile(rf"(?<=[?&;])({NAME_IN_URI})=[^&#;\s'\"]+", re.IGNORECASE), rf"\1={HIDDEN}"),
    (re.compile(r"(\bauthorization['\"]?\s*[:=]\s*['\"]?)[^\r\n'\"]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(rf"(\b(?:sasl_)?auth_bytes=)(?:{_STRING})", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"((?<=,)[pv]=)[A-Za-z0-9+/]{27,}={0,2}"), rf"\1{HIDDEN}"),  # the proofs of SCRAM
    (
        re.compile(
            rf"(\b(?!{_KEY}){_NAME}['\"]?\s*(?:=>|[:=])\s*)(?!{_HARMLESS})(?:{_STRING}|[^\s,;&)\]}}'\"]+)",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)


class Secrets:
    """The secrets that a process was given. They are few: each comes from its configuration."""

    def __init__(self) -> None:
        self._known: dict[str, re.Pattern[str]] = {}

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these from now on, as given and percent-decoded."""
        new = {form for secret in secrets for form in (secret, unquote(secret), unquote_plus(secret))}
        if new := new - self._known.keys() - {""}:
            known = self._known | {secret: re.compile(spellings(secret), re.IGNORECASE) for secret in new}
            # The longest first, for one secret may be a part of another.
            self._known = dict(sorted(known.items(), key=lambda item: len(item[0]), reverse=True))

    def clear(self) -> None:
        self._known = {}

    def redact(self, text: str) -> str:
        """``text`` without the known secrets in whatever spelling they occur, and without what looks like a secret."""
        for known in self._known.values():
            text = known.sub(HIDDEN, text)
        for pattern, shown in _PATTERNS:
            text = pattern.sub(shown, text)
        return text


@lru_cache(maxsize=1024)
def spellings(secret: str) -> str:
    """A pattern of the secret as written, percent-encoded, escaped for any language, in base64 or hexadecimal."""
    written = "".join(map(_character, secret))
    if len(secret) < SHORT:
        written = rf"(?<![A-Za-z0-9]){written}(?![A-Za-z0-9])"
    data = secret.encode("utf-8", "surrogatepass")
    encoded = {data.hex(), *_base64(data)}
    return "|".join([written, *(re.escape(each) for each in sorted(encoded) if len(each) >= SURE)])


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child process that needs none of our passwords."""
    return {name: value for name, value in environ.items() if not SECRET_VARIABLE.search(name)}


def _character(character: str) -> str:
    """A pattern of one character in every spelling that libraries give it; letters and digits are never escaped."""
    if character.isascii() and (character.isalnum() or character in "-._~"):
        return re.escape(character)
    data = character.encode("utf-8", "surrogatepass")
    code = ord(character)
    forms = [
        "".join(rf"(?:%(?:25)*{byte:02x}|\\+x{byte:02x})" for byte in data),  # first: '%25' begins with a '%'
        rf"\\*{re.escape(character)}",
        rf"\\+(?:x{code:02x}|u{code:04x}|U{code:08x}|{code:03o})",
        rf"&(?:amp;)*\#(?:0*{code}|x0*{code:x});",
        "".join(rf"\\+u{unit:04x}" for unit in _utf16(character)),
    ]
    if character in _ESCAPED:
        forms.append(rf"\\+{_ESCAPED[character]}")
    if character in _ENTITIES:
        forms.append(_ENTITIES[character])
    if character == " ":
        forms.append(r"\+")
    return f"(?:{'|'.join(forms)})"


def _utf16(character: str) -> tuple[int, ...]:
    """Its code units, which JSON writes."""
    data = character.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(data) // 2}H", data)


def _base64(data: bytes) -> set[str]:
    """The data's base64 digits wherever it begins in the encoded text, without digits shared with neighbours."""
    found = set()
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        whole = (before + len(data)) // 3 * 4
        first = 0 if before == 0 else before + 1
        found.add(text[first:whole])
    return found | {text.replace("+", "-").replace("/", "_") for text in found}


KNOWN = Secrets()
"""Those of this process."""


def hide(*secrets: str | None) -> None:
    """Let no text that passes ``redact`` show these."""
    KNOWN.add(secret for secret in secrets if secret)


def redact(text: str) -> str:
    """``text`` fit for logs, errors and messages."""
    return KNOWN.redact(text)
