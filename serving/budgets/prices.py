"""Amounts of money, energy, bytes and calls, as people write them, and the cost of work in such a unit. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


JOULES_PER_WH = 3600.0
BYTES_PER_GIB = 1024.0**3


class CallWork(NamedTuple):
    """The work of one call, or of one picture's part in it."""

    calls: float = 0.0
    """Calls to other machines."""
    processor_s: float = 0.0
    """Processor seconds of this machine, all threads together."""
    sent_bytes: float = 0.0
    """Bytes over the wire, both ways."""
    joules: float | None = None
    """Energy that was measured; None: it is to be estimated."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a budget, each in its unit; energy is d·P where nothing measures it.

    >>> Prices("EUR", per_call=0.002, per_gib=0.1).cost(CallWork(calls=1, sent_bytes=2**29))
    0.052000000000000005
    >>> Prices("Wh", watts=7.2).cost(CallWork(processor_s=10)), Prices("Wh").cost(CallWork(joules=72.0))
    (0.02, 0.02)
    >>> Prices("B").cost(CallWork(calls=1, sent_bytes=519_168))
    519168.0
    """

    unit: str
    """``Wh``, ``B``, ``calls`` or a currency."""
    per_call: float = 0.0
    per_processor_s: float = 0.0
    per_gib: float = 0.0
    per_kwh: float = 0.0
    watts: float | None = None
    """The power of this machine that a busy processor stands for, where nothing measures its energy."""

    @property
    def needs_energy(self) -> bool:
        """Whether a cost depends on energy."""
        return self.unit == "Wh" or self.per_kwh > 0

    def cost(self, work: CallWork) -> float:
        """The cost of work."""
        if self.unit == "B":
            return float(work.sent_bytes)
        if self.unit == "calls":
            return float(work.calls)
        paid = self.per_call * work.calls + self.per_processor_s * work.processor_s
        paid += self.per_gib * work.sent_bytes / BYTES_PER_GIB
        if not self.needs_energy:
            return paid
        joules = (self.watts or 0.0) * work.processor_s if work.joules is None else work.joules
        energy_wh = joules / JOULES_PER_WH
        return paid + (energy_wh if self.unit == "Wh" else self.per_kwh * energy_wh / 1000)
