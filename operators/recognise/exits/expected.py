"""Figures expected of exits before any were made for a stream: as they were found on generated streets."""

from __future__ import annotations

from typing import Final

from specialization.rates import Rates, Template

RATES: Final = Rates(a_in=0.59, e_in_out=0.4, a_out=0.97)
TEMPLATE: Final = "exits"


def own(words: int) -> Template:
    """Exits in the oracle itself, which says so many words.

    A look leaves at half of the work, and one that leaves nowhere has .53 of it still to do, lookups included.
    """
    return Template(TEMPLATE, 0.5, dict.fromkeys(range(1, words + 1), RATES), 0.53)


def lent(words: int) -> Template:
    """Exits in a lender, while the oracle is on another machine: it is asked in full for what leaves nowhere."""
    return Template(TEMPLATE, 0.02, dict.fromkeys(range(1, words + 1), RATES), 1.0)
