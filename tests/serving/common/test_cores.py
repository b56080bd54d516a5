"""How many cores may be used, by the files with which Linux bounds a container's processor time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from serving.common import threads
from serving.common.threads import granted_cores, usable_cores

ALL = os.cpu_count() or 1
GROUPS, OWN = "sys/fs/cgroup", "proc/self/cgroup"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("bound", "granted"),
    [("150000 100000", 2), ("50000 100000", 1), ("400000 100000", 4), ("max 100000", ALL), ("", ALL), ("x y", ALL)],
)
def test_a_container_has_the_cores_that_its_time_is_worth(tmp_path: Path, bound: str, granted: int) -> None:
    write(tmp_path / GROUPS / "cpu.max", f"{bound}\n")
    write(tmp_path / OWN, "0::/\n")
    assert granted_cores(tmp_path) == granted


@pytest.mark.parametrize(("quota", "granted"), [("300000", 3), ("-1", ALL), ("10000", 1)])
def test_the_older_groups_are_read_too(tmp_path: Path, quota: str, granted: int) -> None:
    folder = tmp_path / GROUPS / "cpu" / "docker" / "abc"
    write(folder / "cpu.cfs_quota_us", f"{quota}\n")
    write(folder / "cpu.cfs_period_us", "100000\n")
    write(tmp_path / OWN, "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n")
    assert granted_cores(tmp_path) == granted


def test_a_group_around_the_own_one_binds_as_well(tmp_path: Path) -> None:
    groups = tmp_path / GROUPS
    write(groups / "system.slice" / "cpu.max", "100000 100000")
    write(groups / "system.slice" / "sluice.service" / "cpu.max", "700000 100000")
    write(tmp_path / OWN, "0::/system.slice/sluice.service\n")
    assert granted_cores(tmp_path) == 1


@pytest.mark.parametrize("own", [None, "", "nonsense", "0::/../../etc", "::::"])
def test_what_cannot_be_read_binds_nothing(tmp_path: Path, own: str | None) -> None:
    if own is not None:
        write(tmp_path / OWN, own)
    assert granted_cores(tmp_path) == ALL


def test_no_more_are_usable_than_are_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / GROUPS / "cpu.max", "90000 100000")
    write(tmp_path / OWN, "0::/\n")
    monkeypatch.setattr(threads, "ROOT", tmp_path)
    assert usable_cores() == 1
