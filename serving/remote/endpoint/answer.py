"""From what an endpoint said to a probability for each label. Pure.

Only a word of the list counts, whole: a sentence that holds one is no answer. The certainty of a word is the product of
the probabilities of its tokens; other labels get those of the tokens with which they would have begun.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from serving.remote.endpoint.reply import Reply, SaidToken, said_label

DRESS = " \t\r\n\"'`*.:"
"""Characters around a word that say nothing."""
LEAD = 1e-3
"""By so much the word that was said is ahead of all others, at least."""


def shares(reply: Reply, words: Sequence[str], confidence: float) -> NDArray[np.float32]:
    """The probability of each of K words, of which the last one stands for all else; they add up to 1.

    ``confidence``: of an answer whose tokens' probabilities are not known.
    """
    label = said_label(reply.text)
    best = _place(label, words)
    tokens = _tokens_of(label, reply)
    if best is None:
        best, tokens = len(words) - 1, ()
    row = np.zeros(len(words))
    certain = math.exp(min(0.0, sum(each.logprob for each in tokens))) if tokens else confidence
    for token in tokens[0].top_logprobs if tokens else ():
        if (other := _beginning(token.token, words)) not in (None, best):
            row[other] += math.exp(min(0.0, token.logprob))
    return _normal(row, best, min(max(certain, 0.0), 1.0))


def is_listed(reply: Reply, words: Sequence[str]) -> bool:
    """Whether an answer is a word of the list."""
    return _place(said_label(reply.text), words) is not None


def _normal(others: NDArray[np.float64], best: int, certain: float) -> NDArray[np.float32]:
    """A distribution with this share for the best word, what is known for others, and the rest for these evenly."""
    left = 1.0 - certain
    row = others * min(1.0, left / max(others.sum(), 1e-9))
    row += max(0.0, left - row.sum()) / max(1, len(row) - 1)
    row[best] = 0.0
    row[best] = max(certain, row.max() + LEAD)
    found: NDArray[np.float32] = (row / row.sum()).astype(np.float32)
    return found


def _place(label: str, words: Sequence[str]) -> int | None:
    return next((place for place, word in enumerate(words) if _plain(word) == _plain(label)), None)


def _beginning(token: str, words: Sequence[str]) -> int | None:
    """The one word that begins so; None where there is none, or several."""
    said = _plain(token)
    found = [place for place, word in enumerate(words) if said and _plain(word).startswith(said)]
    return found[0] if len(found) == 1 else None


def _plain(word: str) -> str:
    return word.strip(DRESS).casefold()


def _tokens_of(label: str, reply: Reply) -> Sequence[SaidToken]:
    """The tokens of an answer that hold letters of its label."""
    word = label.strip(DRESS)
    begins = reply.text.rfind(word)
    if not word or begins < 0:
        return ()
    ends = [0, *accumulate(len(each.token) for each in reply.tokens)]
    return [
        token
        for token, first, last in zip(reply.tokens, ends, ends[1:], strict=False)
        if first < begins + len(word) and last > begins
    ]
