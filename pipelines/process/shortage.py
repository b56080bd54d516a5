"""Errors by which a machine refuses a process memory or threads, as one line for people. Pure."""

from __future__ import annotations

import errno

_SAID = ("failed to map segment", "Cannot allocate memory", "bad_alloc", "bad allocation")
"""By the loader of libraries, by the system and by C++, which have no kind of error for it in Python."""
_MORE = "give the process more memory (the container's limit, or `ulimit -v`)"


def shortage(error: Exception) -> str | None:
    """One line that says what is short; None where nothing is."""
    if "can't start new thread" in str(error):
        allow = "or allow it more threads (`ulimit -u`, pids)"
        return f"the machine refuses a further thread, mostly for want of memory: {_MORE}, {allow}"
    refused = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if refused or any(said in str(error) for said in _SAID):
        detail = f" ({error})" if str(error) else ""
        return f"the machine refuses memory{detail}: {_MORE}"
    return None
