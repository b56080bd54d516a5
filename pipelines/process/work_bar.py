"""A progress bar for a command that works for minutes; on standard error, so that tables and JSON stay clean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pipelines.process.safe_console import SafeConsole


@contextmanager
def work_bar(name: str) -> Iterator[Callable[[str, float], None]]:
    """Show a bar for the work on ``name``, on a terminal only; yields what takes the step and the share done (0..1)."""
    console = SafeConsole(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(name, total=1.0)
        yield lambda step, share: bars.update(task, description=f"{name}: {step}", completed=share)
