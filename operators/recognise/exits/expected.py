"""Figures expected of exits before any were made for a stream: as they were found on generated streets."""

from __future__ import annotations

from typing import Final

from specialization.rates import Rates

RATES: Final = Rates(a_in=0.59, e_in_out=0.4, a_out=0.97)
COST: Final = 0.5
"""Share of the network's work at which a look leaves, lookups included."""
PASSED: Final = 0.53
"""Share of the work behind that, for a look that leaves nowhere, lookups included."""
