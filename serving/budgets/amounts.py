"""Amounts of money, energy, bytes and calls, as people write them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["money", "energy", "bytes", "calls"]

UNITS: dict[str, tuple[str, float]] = {
    "J": ("Wh", 1 / 3600),
    "Wh": ("Wh", 1.0),
    "kWh": ("Wh", 1000.0),
    "KiB": ("B", 1024.0),
    "MiB": ("B", 1024.0**2),
    "GiB": ("B", 1024.0**3),
    "TiB": ("B", 1024.0**4),
    "calls": ("calls", 1.0),
}
"""The unit in which an amount is kept, and how many of it the written one is."""
_WRITTEN = re.compile(r"(?P<number>\d{1,12}(\.\d{1,12})?) ?(?P<unit>[A-Za-z]{1,5})", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Amount:
    """So much of something.

    >>> Amount.parse("2 GiB"), Amount.parse("3600 J").kind
    (Amount(value=2147483648.0, unit='B'), 'energy')
    >>> print(Amount.parse("0.5 kWh"), Amount(1.5 * 2**30, "B"), Amount(0.0421, "EUR"))
    500 Wh 1.5 GiB 0.0421 EUR
    """

    value: float
    unit: str
    """``Wh``, ``B``, ``calls``, or a currency by its three letters: ``EUR``."""

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Read an amount; ValueError that says which there are."""
        found = _WRITTEN.fullmatch(text)
        if found is not None and (found["unit"] in UNITS or _CURRENCY.fullmatch(found["unit"])):
            unit, worth = UNITS.get(found["unit"], (found["unit"], 1.0))
            return cls(float(found["number"]) * worth, unit)
        raise ValueError(f"is {text!r}: give an amount such as 5 EUR, 20 Wh or 2 GiB")

    @property
    def kind(self) -> Kind:
        return {"Wh": "energy", "B": "bytes", "calls": "calls"}.get(self.unit, "money")  # type: ignore[return-value]

    def __str__(self) -> str:
        if self.unit != "B":
            return f"{self.value:.4g} {self.unit}"
        for name in ("TiB", "GiB", "MiB", "KiB"):
            if abs(self.value) >= UNITS[name][1]:
                return f"{self.value / UNITS[name][1]:.4g} {name}"
        return f"{self.value:.0f} B"
