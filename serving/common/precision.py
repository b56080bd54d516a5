"""The number formats that a network may be computed in; without numpy, which a mistyped query does without."""

from __future__ import annotations

from typing import Literal

Precision = Literal["fp32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")
