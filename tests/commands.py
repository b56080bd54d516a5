"""Whether our command line takes some words, without anything being started."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pipelines.cli import sluice


def accepted(words: Sequence[str]) -> None:
    """Parse a command and its options; raises click's error for what is not taken."""
    command: click.Command = sluice
    context, rest = click.Context(command), [*words]
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(context, rest)
        assert command is not None, name
    command.make_context(command.name, rest, parent=context)
