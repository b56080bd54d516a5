"""Parts of click that commands share: numbers in a range, and groups that know what was meant by a misspelt word."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any

import click


class Number(click.FloatRange):
    """One in a range: what is no number (``nan``) would pass every comparison with its ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


class SuggestingGroup(click.Group):
    """Names the nearest subcommand, and all of them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See ``click``; raises UsageError for a name that is none."""
        name = args[0]
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            ctx.fail(f"there is no command {name!r}: {hint}there are {', '.join(known)}")
        return super().resolve_command(ctx, args)
