"""How many cores a process may use: those that it is bound to, and no more than its container's share of their time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def usable_cores() -> int:
    """At least one."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, granted_cores(CGROUPS, OWN))


def granted_cores(root: Path, own: Path) -> int:
    """As many as the processor time that Linux grants to the process's groups is worth; without a bound all there are.

    ``root``: where control groups are mounted; ``own``: the file that names the process's groups.
    """
    shares = [share for folder in _folders(root, own) if (share := _share(folder)) is not None]
    return max(1, math.ceil(min(shares, default=float(os.cpu_count() or 1))))


def _folders(root: Path, own: Path) -> Iterator[Path]:
    """The groups that bound processor time: the process's own and those around it."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    for line in lines:
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds == "" or "cpu" in kinds.split(","):
            inside = PurePosixPath(path.lstrip("/"))
            mounted = root if kinds == "" else root / "cpu"
            yield from (mounted / each for each in (inside, *inside.parents) if ".." not in each.parts)


def _share(folder: Path) -> float | None:
    """Cores' worth of time: by version 2 of control groups, or version 1; None where there is no bound."""
    words = _words(folder / "cpu.max") or _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
    if len(words) != 2 or not all(word.isdecimal() for word in words):  # "max", or -1: no bound
        return None
    quota, period = map(int, words)
    return quota / period if period else None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return []
