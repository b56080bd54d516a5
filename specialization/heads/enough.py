"""How many rows a head needs."""

from __future__ import annotations

LEAST_ROWS = 12
"""The fewest rows of every dominant class."""
LEAST_OTHERS = 30
"""The fewest rows of all other classes together."""
