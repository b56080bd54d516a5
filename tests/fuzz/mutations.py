"""Makes bad messages of good ones, at random. Pure: the same generator in the same state gives the same message."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

STRINGS = (
    "", " ", "\x00", "\x1b[2J", "\u202etxet", "\ud800", "a\nb", "../../etc/passwd", "%s%n", "null", "NaN", "é" * 300,
    "2026-01-01T00:00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:60Z", "sluice.frame/2", "none", "bgr24",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 0.1, -0.0, 1e308, -1e308, 5e-324, 1e19)
RAW = (b"NaN", b"1e999", b"-Infinity", b"9" * 5000, b"[" * 4000, b'{"a":' * 3000, b"\xff\xfe", b'"\xed\xa0\x80"')


@dataclass(frozen=True)
class Letter:
    """One message: what Kafka carries of it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def mutated(rng: Random, good: Letter) -> Letter:
    """One to three changes somewhere in the message."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        good = rng.choice((_header, _header, _header, _headers, _value, _value, _key))(rng, good)
    return good


def mutated_json(rng: Random, text: bytes) -> bytes:
    """A JSON document that is hardly one any more, or says something impossible."""
    return _json_change(rng, text) if rng.random() < 0.6 else _bytes_change(rng, text)


def _header(rng: Random, message: Letter) -> Letter:
    """Another content for the frame's header."""
    headers = tuple(
        (name, mutated_json(rng, content) if name == "frame" and content else content)
        for name, content in message.headers
    )
    return replace(message, headers=headers)


def _headers(rng: Random, message: Letter) -> Letter:
    """Headers that are missing, null, double, many or long."""
    some: Callable[[], tuple[tuple[str, bytes | None], ...]] = rng.choice(
        (
            lambda: (),
            lambda: tuple((name, None) for name, _ in message.headers),
            lambda: message.headers * 2,
            lambda: (*message.headers, (_text(rng), None)),
            lambda: ((_text(rng), rng.randbytes(20)), *message.headers),
            lambda: (*message.headers, ("long", rng.randbytes(100_000))),
            lambda: (*((f"h{n}", b"x") for n in range(500)), *message.headers),
        )
    )
    return replace(message, headers=some())


def _value(rng: Random, message: Letter) -> Letter:
    """Another image, or none."""
    data = message.value or b""
    return replace(message, value=rng.choice((None, b"", _bytes_change(rng, data), _bytes_change(rng, data))))


def _key(rng: Random, message: Letter) -> Letter:
    return replace(message, key=rng.choice((None, b"", b"\xff\xfe", rng.randbytes(30), b"k" * 10_000)))


def _bytes_change(rng: Random, data: bytes) -> bytes:
    """Flip bits, cut, repeat, insert or replace."""
    at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    changes: tuple[Callable[[], bytes], ...] = (
        lambda: _flipped(rng, data, 1),
        lambda: _flipped(rng, data, 8),
        lambda: data[:at],
        lambda: data[at:],
        lambda: data[:at] + data[end:],
        lambda: data[:end] + data[at:],
        lambda: data[:at] + rng.randbytes(rng.randrange(1, 40)) + data[at:],
        lambda: data[:at] + rng.choice(RAW) + data[at:],
        lambda: rng.randbytes(rng.randrange(200)),
        lambda: rng.choice(RAW),
    )
    return rng.choice(changes)()


def _flipped(rng: Random, data: bytes, bits: int) -> bytes:
    changed = bytearray(data)
    for _ in range(bits if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _json_change(rng: Random, text: bytes) -> bytes:
    """Another value somewhere in the document: of another type, far too large, missing, or unheard of."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _bytes_change(rng, text)
    spots = list(_spots(document))
    if not spots:
        return rng.choice(RAW)
    holder, key = rng.choice(spots)
    action = rng.random()
    if action < 0.15:
        del holder[key]
    elif action < 0.25 and isinstance(holder, dict):
        holder[_text(rng)] = _anything(rng)
    else:
        holder[key] = _anything(rng)
    return json.dumps(document).encode()


def _spots(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document that holds a value."""
    found: list[tuple[Any, Any]] = []
    keys = list(document) if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in keys:
        found.append((document, key))
        found += _spots(document[key])
    return found


def _anything(rng: Random) -> Any:
    deep: Any = 0
    for _ in range(rng.randrange(200)):
        deep = [deep]
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: _text(rng),
        lambda: _text(rng),
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(NUMBERS),
        lambda: rng.uniform(-1e6, 1e6),
        lambda: rng.choice((None, True, False, [], {})),
        lambda: "x" * rng.choice((257, 5000, 300_000)),
        lambda: list(range(rng.randrange(2000))),
        lambda: deep,
    )
    return rng.choice(kinds)()


def _text(rng: Random) -> str:
    """No surrogates: header names have to be encoded by the client; documents get theirs as escapes."""
    return rng.choice(STRINGS).replace("\ud800", "?")
