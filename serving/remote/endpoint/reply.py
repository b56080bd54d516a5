"""Strict decoding of an endpoint's answer: what is not told here is ignored, what is told has bounds. Pure."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from serving.common.untrusted import decode
from serving.errors import Malformed

LARGEST_BYTES = 256 << 10
"""A longer answer is given up unread."""
MOST_TOKENS = 512
"""A longer list of tokens is refused."""

Count = Annotated[int, Meta(ge=0, le=1 << 32)]
Word = Annotated[str, Meta(max_length=256)]


class TokenUsage(Struct, frozen=True):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0


class LikelyToken(Struct, frozen=True):
    """A token that could stand at a place, and the logarithm of its probability."""

    token: Word
    logprob: float


class SaidToken(LikelyToken, frozen=True):
    top_logprobs: Annotated[tuple[LikelyToken, ...], Meta(max_length=20)] = ()


class _Logprobs(Struct, frozen=True):
    content: Annotated[tuple[SaidToken, ...], Meta(max_length=MOST_TOKENS)] | None = None


class _Message(Struct, frozen=True):
    content: Annotated[str, Meta(max_length=4096)] | None = None


class _Choice(Struct, frozen=True):
    message: _Message
    logprobs: _Logprobs | None = None


class _Completion(Struct, frozen=True):
    choices: Annotated[tuple[_Choice, ...], Meta(min_length=1, max_length=16)]
    usage: TokenUsage | None = None


class Reply(Struct, frozen=True):
    text: str
    tokens: tuple[SaidToken, ...]
    """The text's, with their probabilities; () where it does not tell them, or where they are not the text's."""
    usage: TokenUsage | None
    """None: it does not tell."""


def read_reply(data: bytes) -> Reply:
    """The first choice of a completion; Malformed for anything else."""
    found = decode(data, _Completion, LARGEST_BYTES)
    first = found.choices[0]
    text = first.message.content or ""
    tokens = (first.logprobs.content if first.logprobs else None) or ()
    if not "".join(each.token for each in tokens).startswith(text):  # the mark of the end may follow
        tokens = ()
    return Reply(text, tokens, found.usage)


class _Listed(Struct, frozen=True):
    id: Word


class _Models(Struct, frozen=True):
    data: Annotated[tuple[_Listed, ...], Meta(max_length=10_000)]


def read_names(data: bytes) -> list[str] | None:
    """The names of the models that an endpoint lists; None where it lists none in a form that is known."""
    try:
        return [each.id for each in decode(data, _Models, LARGEST_BYTES).data]
    except Malformed:
        return None


class _Labelled(Struct, frozen=True, forbid_unknown_fields=True):
    label: Word


FENCED = re.compile(r"\s*```\w*\s(.*)```\s*", re.DOTALL)
"""An answer that Markdown shows as code, as models write JSON where their server does not bind them."""


def said_label(text: str) -> str:
    """The word that an answer says: the value of ``label`` where it is JSON, else all of it."""
    if (fenced := FENCED.fullmatch(text)) is not None:
        text = fenced[1]
    try:
        return msgspec.json.decode(text, type=_Labelled).label
    except (msgspec.DecodeError, RecursionError):
        return text
