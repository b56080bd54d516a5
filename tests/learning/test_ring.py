"""The ring keeps the newest samples, is read while it is written, and outlives its process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.array_files import WRITTEN
from learning.store import FeatureStore, SampleRing
from serving.errors import BadInput, ModelError


def numbered(start: int, count: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Rows that say which they are, in features and in labels."""
    numbers = np.arange(start, start + count)
    return np.repeat(numbers[:, None], 3, axis=1).astype(np.float32), numbers


def held(directory: Path) -> list[int]:
    store = FeatureStore.open(directory)
    for features, label in zip(store.features, store.labels, strict=True):
        assert (features == label).all(), "features and labels of different samples"
    return store.labels.tolist()


def test_the_newest_are_kept_in_their_order(tmp_path: Path) -> None:
    ring = SampleRing(tmp_path, 3, capacity=10)
    assert held(tmp_path) == []
    ring.add(*numbered(0, 4))
    assert held(tmp_path) == [0, 1, 2, 3]
    ring.add(*numbered(4, 9))
    assert held(tmp_path) == list(range(3, 13))


@given(st.lists(st.integers(0, 25), max_size=12), st.integers(1, 12))
def test_whatever_is_added_the_last_are_there(sizes: list[int], capacity: int) -> None:
    with TemporaryDirectory() as folder:
        ring, total = SampleRing(Path(folder), 3, capacity), 0
        for size in sizes:
            ring.add(*numbered(total, size))
            total += size
        assert held(Path(folder)) == list(range(max(total - capacity, 0), total))
        ring.close()


def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = SampleRing(tmp_path, 3, capacity=5)
    first.add(*numbered(0, 7))
    first.close()
    second = SampleRing(tmp_path, 3, capacity=5)
    assert held(tmp_path) == [2, 3, 4, 5, 6]
    second.add(*numbered(7, 2))
    assert held(tmp_path) == [4, 5, 6, 7, 8]


def test_rows_that_are_being_written_are_left_out(tmp_path: Path) -> None:
    ring = SampleRing(tmp_path, 3, capacity=10)
    ring.add(*numbered(0, 10))
    # As a writer leaves it that is killed after the third of four rows.
    ring._written[0] += 4
    ring._features[:3] = 99
    assert held(tmp_path) == [4, 5, 6, 7, 8, 9]
    ring.close()
    again = SampleRing(tmp_path, 3, capacity=10)
    assert held(tmp_path) == [4, 5, 6, 7, 8, 9], "half-written rows stay out after a restart"
    again.add(*numbered(20, 1))
    assert held(tmp_path) == [5, 6, 7, 8, 9, 20]


@pytest.mark.parametrize(
    "damage",
    [
        lambda ring: (ring / "features.npy").write_bytes(b"cut"),
        lambda ring: (ring / "labels.npy").unlink(),
        lambda ring: np.save(ring / WRITTEN, np.array([3, 9])),
        lambda ring: np.save(ring / "features.npy", np.zeros((5, 4), np.float16)),
    ],
    ids=["cut", "missing", "count", "shape"],
)
def test_a_damaged_ring_begins_anew(damage: object, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    SampleRing(tmp_path, 3, capacity=5).add(*numbered(0, 5))
    damage(tmp_path)  # type: ignore[operator]
    ring = SampleRing(tmp_path, 3, capacity=5)
    assert held(tmp_path) == []
    assert "collected anew" in caplog.text
    ring.add(*numbered(5, 1))
    assert held(tmp_path) == [5]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be written"):
        SampleRing(tmp_path / "file", 3)


def test_a_reader_refuses_a_damaged_count(tmp_path: Path) -> None:
    SampleRing(tmp_path, 3, capacity=5).add(*numbered(0, 5))
    np.save(tmp_path / WRITTEN, np.zeros(5, np.int64))
    with pytest.raises(ModelError, match="damaged"):
        FeatureStore.open(tmp_path)


WRITER = """
import sys
from pathlib import Path
import numpy as np
from learning.store import SampleRing
ring = SampleRing(Path(sys.argv[1]), 3, 64)
print("ready", flush=True)
number = 0
while True:
    rows = np.arange(number, number + 7) % 60_000
    ring.add(np.repeat(rows[:, None] % 2000, 3, axis=1), rows % 2000)
    number += 7
"""


def test_another_process_reads_whole_rows_while_it_is_written(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        writer.stdout.readline()
        try:
            counts = [len(held(tmp_path)) for _ in range(200)]
        finally:
            writer.kill()
    assert max(counts) > 0
