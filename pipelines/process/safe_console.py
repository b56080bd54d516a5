"""Rich's console for text that comes from elsewhere; apart from ``terminal.py``, since most commands need no Rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from serving.common.untrusted import printable_lines

GUESSED, WIDE = 80, 200
"""Columns: those that Rich takes where nobody says how many there are, and those that a log or a file gets then."""


class SafeConsole(Console):
    """Rich's console, for text that is meant as it stands: neither escapes nor markup are obeyed.

    Where it is no terminal lines are not broken, but for very long ones."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)
        if not self.is_terminal and self.width == GUESSED:
            self.width = WIDE

    def render_str(self, text: str, **options: Any) -> Text:
        """Text of tables and lines passes here."""
        return super().render_str("\n".join(printable_lines(text)), **options)


@contextmanager
def work_bar(name: str) -> Iterator[Callable[[str, float], None]]:
    """Show a bar for the work on ``name``, on a terminal only; yields what takes the step and the share done (0..1)."""
    console = SafeConsole(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(name, total=1.0)
        yield lambda step, share: bars.update(task, description=f"{name}: {step}", completed=share)
