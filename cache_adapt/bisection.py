"""Where a function crosses zero, to the last bit.

SciPy's ``brentq`` finds the same in fewer steps, but its package takes longer to import than a run needs for its first
frame.
"""

from __future__ import annotations

from collections.abc import Callable


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """A place between ``low`` and ``high``, where the function has different signs, at which it changes them."""
    rises = function(low) < function(high)
    while low < (middle := low + (high - low) / 2) < high:
        value = function(middle)
        if value < 0 if rises else value > 0:
            low = middle
        else:
            high = middle
    return high
