"""Problems of a file that a person wrote: key path, line, what is wrong, and what it should perhaps have been."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

KeyPath = tuple[str | int, ...]

SHOWN = 20
"""So many allowed words are listed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct; ``path`` leads to the value, () is the whole file."""

    path: KeyPath
    message: str
    line: int | None = None
    """Where the path alone cannot say it; counts from 1."""

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.message}" if self.path else self.message


def dotted(path: KeyPath) -> str:
    """``("nodes", 2, "model")`` as people write it: ``nodes[2].model``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def near_miss(word: object, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where a known word is close, else nothing."""
    close = get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def choices(word: object, known: Iterable[str]) -> str:
    """The near miss, if there is one, and what is allowed."""
    names = list(dict.fromkeys(known))
    more = f", … ({len(names)} in all)" if len(names) > SHOWN else ""
    return f"{near_miss(word, names) or ';'} allowed: {', '.join(names[:SHOWN]) or 'none'}{more}"
