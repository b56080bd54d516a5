"""Text from anywhere, made fit for a terminal and for a line of a log. Pure."""

from __future__ import annotations

import json

MARK = "…"
"""Stands for what was cut off."""


def printable(text: object, limit: int | None = None) -> str:
    """The text with every character that a terminal may act upon spelled out, as ``\\x1b`` or ``\\u202e``.

    These are control characters, line breaks, marks that turn the direction of writing and what has no glyph.
    ``limit``: the most characters that are returned.
    """
    shown = str(text)
    if limit is not None:
        shown = shortened(shown, limit)
    if not shown.isprintable():
        shown = "".join(each if each.isprintable() else _spelled(each) for each in shown)
    return shown if limit is None else shortened(shown, limit)


def printable_lines(text: object) -> list[str]:
    """The same line by line: only for text whose line breaks are ours, such as a traceback."""
    return [printable(line) for line in str(text).split("\n")]


def json_line(data: bytes) -> str:
    """Valid JSON as one line that says the same, with what a terminal may act upon in JSON's own spelling."""
    text = data.decode()
    if text.isprintable():
        return text
    # Outside of strings JSON has no such characters but white space.
    return "".join(each if each.isprintable() else " " if each in "\n\r\t" else _in_json(each) for each in text)


def shortened(text: str, limit: int) -> str:
    """At most so many characters of a text; the last one tells that something was cut off."""
    return text if len(text) <= limit else text[: limit - len(MARK)] + MARK


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _in_json(character: str) -> str:
    return json.dumps(character)[1:-1]
