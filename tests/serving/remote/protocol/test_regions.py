from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from serving.errors import Malformed, Unavailable
from serving.remote.protocol import region_file
from serving.remote.protocol.owned_region import OWN, create, sweep
from serving.remote.protocol.region_file import FOLDER, open_region

DYING = """
import os, signal, sys
from pathlib import Path
from serving.remote.protocol import region_file
from serving.remote.protocol.owned_region import create
region_file.FOLDER = Path(sys.argv[1])
region = create(64)
print(region.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_one_writes_the_other_reads() -> None:
    owned = create(64)
    given = open_region(f"/{owned.name}")
    try:
        owned.write(8, np.arange(6, dtype=np.float32).reshape(2, 3))
        into = np.empty((2, 3), np.float32)
        given.read(8, into)
        assert into.tolist() == [[0, 1, 2], [3, 4, 5]]
        given.write(60, np.full(4, 7, np.uint8))
        last = np.empty(4, np.uint8)
        owned.read(60, last)
        assert last.tolist() == [7] * 4
        assert (given.size, given.left) == (64, False)
    finally:
        owned.close()
    assert given.left
    given.close()


def test_a_region_that_was_cut_short_is_an_error_and_no_crash() -> None:
    owned = create(1 << 16)
    given = open_region(owned.name)
    try:
        os.truncate(FOLDER / owned.name, 100)
        with pytest.raises(Malformed, match="100 bytes, where 4096 from 0 on are used"):
            given.read(0, np.empty(4096, np.uint8))
        with pytest.raises(Malformed, match="where 4096 from 0 on are used"):
            given.write(0, np.zeros(4096, np.uint8))
        assert given.size == 100
    finally:
        given.close()
        owned.close()


def test_arrays_of_nothing_lie_anywhere() -> None:
    owned = create(8)
    try:
        owned.write(8, np.zeros((0, 4), np.float32))
        owned.read(9, np.zeros((0, 4), np.float32))
    finally:
        owned.close()


@pytest.mark.parametrize(
    "key", ["", "sluice-", "other", "sluice-../a", "sluice-a/b", "//sluice-a", "sluice-" + "a" * 129]
)
def test_only_names_of_regions_are_opened(key: str) -> None:
    with pytest.raises(Malformed, match="the key of a region is"):
        open_region(key)


def test_only_regions_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_file, "FOLDER", tmp_path)
    (tmp_path / "sluice-folder").mkdir()
    (tmp_path / "sluice-link").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "sluice-pipe")
    for name, says in [
        ("sluice-none", "No such file"),
        ("sluice-folder", "Is a directory"),
        ("sluice-link", "symbolic links"),
        ("sluice-pipe", "not shared memory"),
    ]:
        with pytest.raises(Malformed, match=f"region {name}: .*{says}"):
            open_region(name)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Shared memory in which nobody else has regions, or sweeps."""
    with TemporaryDirectory(dir=FOLDER) as name:
        monkeypatch.setattr(region_file, "FOLDER", place := Path(name))
        yield place


def test_what_a_killed_owner_left_is_swept_and_what_is_in_use_stays(folder: Path) -> None:
    died = subprocess.run([sys.executable, "-c", DYING, folder], capture_output=True, text=True, check=False)
    left = folder / died.stdout.strip()
    owned = create(8)
    others = folder / "sluice-of-another-client"
    others.write_bytes(b"12345678")
    try:
        assert left.exists()
        assert left.name.startswith(OWN)
        assert sweep() == 1
        assert not left.exists()
        assert (folder / owned.name).exists()
        assert others.exists()
    finally:
        owned.close()


def test_a_machine_without_room_says_so() -> None:
    with pytest.raises(Unavailable, match="no region of 1152921504606846976 bytes"):
        create(1 << 60)


def test_a_machine_without_shared_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_file, "FOLDER", Path("/nowhere"))
    assert not region_file.available()
    assert sweep() == 0
    with pytest.raises(Unavailable, match="No such file"):
        create(8)


def test_a_region_that_was_closed_touches_no_file_that_has_its_descriptor_now(monkeypatch: pytest.MonkeyPatch) -> None:
    owned = create(64)
    descriptor = owned._descriptor
    with monkeypatch.context() as patched:
        patched.setattr(region_file.os, "close", lambda _: None)  # another thread has opened a file meanwhile
        owned.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        owned.write(0, np.ones(64, np.uint8))
    assert os.pread(descriptor, 64, 0) == bytes(64)
    os.close(descriptor)
