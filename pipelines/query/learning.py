"""The query's key ``learning``: the cost that learning may have."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from learning.budget import SHARE
from serving.common.strict import Strict

_PERCENT = r"^\d{1,3}(\.\d{1,6})? ?%$"


def _share(value: Any) -> float:
    """Read ``5%``, or a number from 0 to 1.

    >>> _share("2.5%"), _share(0.05), _share(0)
    (0.025, 0.05, 0.0)
    """
    share = None
    if isinstance(value, str) and re.fullmatch(_PERCENT, value):
        share = float(value.rstrip(" %")) / 100
    elif isinstance(value, int | float) and not isinstance(value, bool):
        share = float(value)
    if share is None or not 0 <= share <= 1:
        raise ValueError(f"is {value!r}: give a share of the processor time, 0% to 100% or 0 to 1")
    return share


ShareOrPercent = Annotated[
    float,
    BeforeValidator(
        _share, json_schema_input_type=Annotated[float, Field(ge=0, le=1)] | Annotated[str, Field(pattern=_PERCENT)]
    ),
]
"""A share, also written as a percentage."""


class LearningSpec(Strict):
    """Limits of learning from streams."""

    budget: ShareOrPercent = SHARE
    """The most that it may cost: a share of the processor time that the process uses; 0: nothing is learnt."""
