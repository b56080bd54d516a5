"""The memory that a process may have, read from a made-up machine."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from pipelines.process.heap import machine_memory_bytes

V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"


def made(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/", f"{V2}/memory.max": "1048576"},
        {"proc/self/cgroup": "0::/a/b", f"{V2}/a/b/memory.max": "max", f"{V2}/a/memory.max": "1048576"},
        {"proc/self/cgroup": "4:cpu,memory:/box", f"{V1}/box/memory.limit_in_bytes": "1048576"},
        {"proc/self/cgroup": "4:memory:/elsewhere", f"{V1}/memory.limit_in_bytes": "1048576"},
    ],
)
def test_the_tightest_control_group_counts(tmp_path: Path, files: dict[str, str]) -> None:
    assert machine_memory_bytes(made(tmp_path, files)) == 1 << 20


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/", f"{V2}/memory.max": "max"},
        {"proc/self/cgroup": "4:memory:/", f"{V1}/memory.limit_in_bytes": "9223372036854771712"},
    ],
)
def test_without_limit_the_machine_counts(tmp_path: Path, files: dict[str, str]) -> None:
    assert machine_memory_bytes(made(tmp_path, files)) == psutil.virtual_memory().total
