"""Whatever the bytes are: what they say, or one error of ours with a short and printable reason."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serving.common.untrusted import LONGEST_REASON, decode
from serving.errors import Malformed


class Inner(msgspec.Struct):
    names: list[str] = []


class Kind(msgspec.Struct, forbid_unknown_fields=False):
    name: Annotated[str, msgspec.Meta(max_length=5, pattern="^[a-z]*$")]
    count: int = 0
    share: float = 0.0
    inner: Inner | None = None


BAD = {
    "nothing": b"",
    "no JSON": b"\x00\x01",
    "no object": b"[]",
    "cut off": b'{"name": "a"',
    "no UTF-8 in a field": b'{"name": "\xff"}',
    "no UTF-8 in a field that is skipped": b'{"name": "a", "other": "\xff"}',
    "half a character": b'{"name": "\\ud800"}',
    "nested": b'{"name": "a", "other": ' + b"[" * 100_000,
    "nested and closed": b'{"name": "a", "other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested objects": b'{"inner": ' * 50_000,
    "more digits than Python converts": b'{"name": "a", "count": ' + b"9" * 10_000 + b"}",
    "infinite": b'{"name": "a", "share": 1e999}',
    "not a number": b'{"name": "a", "share": NaN}',
    "too long": b'{"name": "abcdef"}',
    "other characters": b'{"name": "A"}',
    "byte order mark": b'\xef\xbb\xbf{"name": "a"}',
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_bad_bytes_raise_one_error_with_a_short_and_printable_reason(data: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        decode(data, Kind)
    reason = str(caught.value)
    assert 0 < len(reason) <= LONGEST_REASON
    assert reason.isprintable()


IN_A_FIELD = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=100).map(
    lambda text: b'{"name":"a","other":"' + text.encode(errors="surrogatepass") + b'"}'
)


@given(st.binary(max_size=200) | IN_A_FIELD)
@example(b'{"name":"a"}')
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    with suppress(Malformed):
        assert isinstance(decode(data, Kind), Kind)


def test_more_bytes_than_allowed_are_refused_unread() -> None:
    with pytest.raises(Malformed, match="12 bytes are more than the 11"):
        decode(b'{"name":"a"}', Kind, largest_bytes=11)


def test_a_reason_that_quotes_the_sender_is_made_printable() -> None:
    class Coloured(msgspec.Struct, forbid_unknown_fields=True):
        pass

    with pytest.raises(Malformed, match=r"\\x1b\[31m"):
        decode(b'{"\\u001b[31m": 1}', Coloured)


@pytest.mark.parametrize("wrapped", [bytes, bytearray, memoryview])
def test_all_kinds_of_bytes_are_read(wrapped: Any) -> None:
    assert decode(wrapped(b'{"name":"abc"}'), Kind).name == "abc"


TOGETHER = """
import sys, threading, types
import msgspec
from serving.common.untrusted import decode

sys.setswitchinterval(1e-6)
said = "class S{0}(msgspec.Struct):\\n    a: 'int'\\n    b: 'list[S{1}]'\\n"
for number in range(100):
    module = types.ModuleType(f"kinds{number}")
    module.msgspec = msgspec
    sys.modules[module.__name__] = module
    exec("".join(said.format(each, max(each - 1, 0)) for each in range(8)), module.__dict__)
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        for each in (7, 6, 5):
            decode(b'{"a": 1, "b": []}', getattr(module, f"S{each}"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
"""


def test_threads_may_decode_a_kind_for_the_first_time_together() -> None:
    """In a process of its own: what goes wrong there ends it."""
    assert subprocess.run([sys.executable, "-c", TOGETHER], check=False).returncode == 0
