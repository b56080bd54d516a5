"""Sizes that an exporter wrote down: what they become where a tensor's other sizes change. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from serving.errors import ModelError

Dims = Sequence[int]


def regrouped(before: Dims, after: Dims, target: Dims) -> list[int]:
    """Return the target of a reshape for dims that were ``before`` and are ``after``; ModelError where none follows.

    Neighbours that were joined or parted are so again.

    >>> regrouped([1, 255, 80, 80], [1, 255, 48, 80], [1, 3, 85, 6400])
    [1, 3, 85, 3840]
    """
    if prod(before) != prod(target) or not prod(before):
        raise ModelError(f"a tensor of {_text(before)} is said to become {_text(target)}")
    result, i, j = list(target), 0, 0
    while i < len(before) or j < len(target):
        first, start, left, right = i, j, 1, 1
        while left != right or (i == first and j == start):
            if j == len(target) or (i < len(before) and left <= right):
                left, i = left * before[i], i + 1
            else:
                right, j = right * target[j], j + 1
        result[start:j] = _group(before[first:i], after[first:i], target[start:j])
    return result


def _group(before: Dims, after: Dims, target: Dims) -> list[int]:
    """The part of a target that has as many elements as these dims, which are of one piece."""
    if prod(before) == prod(after):
        return list(target)
    for place, size in enumerate(target):
        rest = prod(target) // size
        if size > 1 and prod(after) % rest == 0:
            return [*target[:place], prod(after) // rest, *target[place + 1 :]]
    raise ModelError(f"nothing says what {_text(target)} becomes where {_text(before)} is {_text(after)}")


def scaled(before: Dims, after: Dims, target: Dims) -> list[int]:
    """Return the sizes to which a tensor is resized, which grow as it does; ModelError where they would be parts."""
    if len(target) != len(before) or not all(before):
        raise ModelError(f"a tensor of {_text(before)} is said to be resized to {_text(target)}")
    if any(new * size % old for old, new, size in zip(before, after, target, strict=True)):
        raise ModelError(f"{_text(target)} is no whole multiple of {_text(before)}")
    return [new * size // old for old, new, size in zip(before, after, target, strict=True)]


def _text(dims: Dims) -> str:
    return " × ".join(map(str, dims)) or "one number"
