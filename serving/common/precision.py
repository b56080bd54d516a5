"""The number formats that a network may be computed in, and on what; without numpy, which mistyped queries avoid."""

from __future__ import annotations

from typing import Literal, get_args

Precision = Literal["fp32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")
Device = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)
"""``auto``: a GPU where one can be used; ``cuda``: nowhere else."""
