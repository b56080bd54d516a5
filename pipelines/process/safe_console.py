"""Rich's console for text that comes from elsewhere; apart from ``terminal.py``, since most commands need no Rich."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from serving.common.untrusted import printable_lines


class SafeConsole(Console):
    """Rich's console, for text that is meant as it stands: neither escapes nor markup are obeyed."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Text of tables and lines passes here."""
        return super().render_str("\n".join(printable_lines(text)), **options)
