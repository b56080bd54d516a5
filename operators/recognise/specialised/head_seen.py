"""The answers of the head in use on one stream, counted for the makers of heads. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cache_adapt.adaptation.triggers import VersionUse
from specialization.rates import Rates
from specialization.weg.state import Head


class HeadSeen:
    """Counts what one head was asked; another head begins anew."""

    def __init__(self) -> None:
        self._number = 0
        self._asked = self._answered = self._audits = self._agreed = 0
        self._expected = 0.0

    def asked(self, head: Head, rates: Rates, objects: int, answered: int) -> None:
        """A head was asked about so many objects; ``rates`` say how many it should have answered for."""
        self._turn_to(head.number)
        self._asked += objects
        self._answered += answered
        self._expected += objects * (1 - rates.cascaded(head.target.skew))

    def audited(self, number: int, agrees: bool) -> None:
        """An answer of the head was compared with the oracle's."""
        self._turn_to(number)
        self._audits += 1
        self._agreed += agrees

    def of(self, number: int, answers: Sequence[int]) -> VersionUse:
        """The counts of a head; ``answers``: the classes of the stream's latest objects."""
        mix = Counter(answers)
        if number != self._number:
            return VersionUse(mix=mix)
        return VersionUse(self._asked, self._answered, self._expected, self._audits, self._agreed, mix)

    def _turn_to(self, number: int) -> None:
        if number != self._number:
            self._number = number
            self._asked = self._answered = self._audits = self._agreed = 0
            self._expected = 0.0
