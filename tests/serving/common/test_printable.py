"""No text acts upon a terminal, whatever it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.common.untrusted import json_line, printable, printable_lines, shortened

HOSTILE = st.text(st.characters() | st.characters(categories=["Cs", "Cc", "Cf"]), max_size=60)
JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(HOSTILE, st.none() | st.integers(1, 40))
def test_only_characters_with_a_glyph_are_left_within_the_limit(text: str, limit: int | None) -> None:
    shown = printable(text, limit)
    assert shown.isprintable()
    assert limit is None or len(shown) <= limit
    shown.encode()


@given(HOSTILE)
def test_lines_stay_lines(text: str) -> None:
    assert len(printable_lines(text)) == text.count("\n") + 1
    assert all(line.isprintable() for line in printable_lines(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Überführung 交差点 🚗", "Überführung 交差点 🚗"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("car\u202etxt", "car\\u202etxt"),
        ("one\ntwo\r", "one\\ntwo\\r"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_acts_upon_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_what_is_too_long_ends_with_a_mark() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_a_line_of_json_says_the_same_as_what_it_was_made_of(value: object, plain: bool, indent: int | None) -> None:
    line = json_line(json.dumps(value, ensure_ascii=plain, indent=indent).encode())
    assert json.loads(line) == value
    assert line.isprintable()
