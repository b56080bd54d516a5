"""How often Python looks for garbage: seldom while a command starts, since what it imports and makes stays."""

from __future__ import annotations

import gc
from typing import Final

OFTEN: Final = (700, 10, 10)
"""As Python does by itself."""
SELDOM: Final = (10_000, 10, 10)
"""Objects made, less those freed, between two looks at the young ones; and how seldom at the older ones."""


def collect_seldom() -> None:
    """A command starts."""
    gc.set_threshold(*SELDOM)


def collect_often() -> None:
    """It works on frames from now on: what one of them leaves behind must not stay for long."""
    gc.set_threshold(*OFTEN)
