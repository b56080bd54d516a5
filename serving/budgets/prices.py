"""The cost of work in the unit of a budget. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
