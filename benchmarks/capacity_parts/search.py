"""The largest number that holds, with few tries. Pure: no I/O, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Callable

RESOLUTION = 8
"""The number is known to an eighth of it, or to one."""


def largest(holds: Callable[[int], bool], guess: int, most: int) -> int:
    """Half more as long as it holds, then bisection; 0 where not even one holds.

    >>> largest(lambda number: number <= 23, 16, 64)
    22
    """
    held, failed, number = 0, most + 1, min(guess, most)
    while failed - held > max(1, held // RESOLUTION):
        if holds(number):
            held = number
        else:
            failed = number
        number = min(held + max(1, held // 2), most) if failed > most else (held + failed) // 2
    return held


def fewer(number: int) -> int:
    """What is tried where a number that seemed to hold does not."""
    return number - max(1, number // RESOLUTION)
