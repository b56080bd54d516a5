"""Numbers that options take."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """One in a range: what is no number (``nan``) would pass every comparison with its ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found
