"""How much memory this process may have: the machine's, or less where its control group is limited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def machine_memory_bytes(root: Path = Path("/")) -> int:
    """The least of the machine's memory and the limits of this process's control groups."""
    import psutil  # only what decodes frames needs it

    return min([psutil.virtual_memory().total, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    """Return the limits of the process's own group and all above it, in both versions of control groups."""
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = Path(path.lstrip("/"))
        for each in (group, *group.parents):
            yield from (int(text) for text in _lines(folder / each / name) if text.isdecimal())


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return []  # no Linux, or no control groups
