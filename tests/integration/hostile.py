"""Messages for the frames topic as nobody should send them, and odd ones that are good all the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.integration.worker_parts import Sent, Wire, frame_message

KB = 1000


def good(wire: Wire, seq: int, stream: str = "camera") -> Sent:
    """What a worker has to analyse, whatever came before."""
    return frame_message(stream, seq)


def pills(wire: Wire) -> Mapping[str, Sent]:
    """By what is wrong with it: each must become one dead letter and cost nothing else."""
    base = good(wire, 9000)
    fields = json.loads(base.headers[0][1] or b"{}")

    def changed(**changes: Any) -> Sent:
        return raw(json.dumps(fields | changes).encode())

    def raw(header: bytes | None, *others: tuple[str, bytes | None]) -> Sent:
        return Sent(base.key, base.value, (("frame", header), *others))

    text = json.dumps(fields).encode()
    return {
        "no header": Sent(base.key, base.value),
        "nothing at all": Sent(None, b""),
        "header null": raw(None),
        "header empty": raw(b""),
        "two headers": raw(text, ("frame", text)),
        "header of another": raw(b"[]"),
        "header no UTF-8": raw(text.replace(b'"run"', b'"r\xff\xfen": 1, "run"')),
        "stream no UTF-8": raw(text.replace(b'"camera"', b'"cam\xff"')),
        "nested": raw(text[:-1] + b',"more":' + b"[" * 5000),
        "nested and closed": raw(text[:-1] + b',"more":' + b"[" * 12_000 + b"]" * 12_000 + b"}"),
        "header of 500 KB": raw(text[:-1] + b',"more":"' + b"x" * 500 * KB + b'"}'),
        "time without zone": changed(captured_at="2024-05-01T00:00:00"),
        "year 1": changed(captured_at="0001-01-01T00:00:00+14:00"),
        "year 9999": changed(captured_at="9999-12-31T23:59:59-14:00"),
        "time is a number": changed(captured_at=1e18),
        "stream of 600 KB": changed(stream="s" * 600 * KB),
        "stream of 300 characters": changed(stream="s" * 300),
        "run of 600 KB": changed(run="r" * 600 * KB),
        "stream empty": changed(stream=""),
        "stream with an escape": changed(stream="cam\x1b[31mera"),
        "stream with a line break": changed(stream="camera\n"),
        "stream written backwards": changed(stream="cam\u202eera"),
        "stream with half a character": changed(stream="cam\ud800"),
        "media time of 1e308": changed(media_time_s=1e308),
        "media time of -1e308": changed(media_time_s=-1e308),
        "media time of 1e12": changed(media_time_s=1e12),
        "media time infinite": raw(text.replace(b'"media_time_s":', b'"media_time_s":1e999,"other":')),
        "media time not a number": changed(media_time_s=float("nan")),
        "seq of 20 digits": changed(seq=10**20),
        "seq of 5000 digits": raw(text.replace(b'"seq":', b'"seq":' + b"9" * 5000 + b',"other":')),
        "seq below 0": changed(seq=-1),
        "width 0": changed(width=0),
        "height of 2^40": changed(height=2**40),
        "other size": changed(width=fields["width"] * 2),
        "other encoding": changed(encoding="pickle"),
        "cause of 100 KB": changed(cause="c" * 20 * KB),
        "no value": Sent(base.key, None, base.headers),
        "value of 700 KB that is none": Sent(base.key, b"\xff" * 700 * KB, base.headers),
        "key of 500 KB": Sent(b"k" * 500 * KB, b"", (("frame", b"{"),)),
        "key no UTF-8": Sent(b"\xff\xfe", b"", (("frame", b"{"),)),
        "2000 headers": Sent(base.key, b"", (*((f"h{n}", b"x" * 200) for n in range(2000)), ("frame", b"{"))),
        "header name of 100 KB": Sent(base.key, b"", (("n" * 100 * KB, None), ("frame", b"{"))),
        "escapes": Sent(b"\x1b[2J", b"\x1b[2J", (("\x1b[2J", b"\x1b[2J"), ("frame", b'"\x1b[2J"'))),
    }


def odd(wire: Wire, first_seq: int) -> Mapping[str, Sent]:
    """By what is odd about it: each is to be analysed like any other. Numbered from ``first_seq``."""
    made: dict[str, Sent] = {}

    def add(name: str, *others: tuple[str, bytes | None], key: bytes | None = b"camera", **changes: Any) -> None:
        base = good(wire, first_seq + len(made))
        fields = json.loads(base.headers[0][1] or b"{}") | changes
        made[name] = Sent(key, base.value, (*others[:1], ("frame", json.dumps(fields).encode()), *others[1:]))

    add("another header null", ("trace", None))
    add("headers of every kind", ("trace", b"\xff"), ("trace", b"x" * 100 * KB), ("", None))
    add("no key", key=None)
    add("key no UTF-8", key=b"\xff\xfe")
    add("fields of a later version", more={"nested": [[1], {"deep": None}]})
    add("nine years ahead", media_time_s=9 * 365 * 86_400.0)
    add("nine years back", media_time_s=-9 * 365 * 86_400.0)
    add("back again")
    add("made in 1970", captured_at="1970-01-01T00:00:05Z")
    add("made in 2150", captured_at="2150-01-01T00:00:00Z")
    return made
