"""The number formats that a network may be computed in, and on what; without numpy, which mistyped queries avoid."""

from __future__ import annotations

from typing import Literal, get_args

Precision = Literal["fp32", "tf32", "fp16", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
"""``tf32``: products of numbers that a GPU rounds to 10 bits, sums of 23."""
Device = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)
"""``auto``: a GPU where one can be used; ``cuda``: nowhere else."""
