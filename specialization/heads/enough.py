"""How many rows a head is trained on at the least."""

from __future__ import annotations

LEAST_ROWS = 12
"""Of every dominant class."""
LEAST_OTHERS = 30
"""Of all other classes together."""
