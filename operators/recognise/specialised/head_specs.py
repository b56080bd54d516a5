"""The targets that a worker wants from an adaptation worker, as they are written into wishes."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from operators.wire.adaptation import LabelNumber

HEAD, RATES = "head", "head_rates"
"""The kinds of artefacts."""


class HeadSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head that is wanted."""

    classes: Annotated[tuple[LabelNumber, ...], Meta(min_length=1, max_length=1000)]
    training_skew: Annotated[float, Meta(ge=0.01, le=0.99)]
    tolerance: Annotated[float, Meta(ge=0, le=1)]

    def __post_init__(self) -> None:
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("a class is named twice")


class RatesSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rates of heads of all sizes and tolerances: there is nothing to choose."""
