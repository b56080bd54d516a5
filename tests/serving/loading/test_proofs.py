"""Whether a change holds is tried once, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.errors import ModelError
from serving.loading.proofs import EDITION, LARGEST, LONGEST, MOST, TOLERANCE, proven, read
from serving.variants.variant import Variant, reference

NET = reference("net")


class Difference:
    """Says a number, or raises, and counts how often it was asked."""

    def __init__(self, found: float | Exception) -> None:
        self.found, self.asked = found, 0

    def __call__(self) -> float:
        self.asked += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def test_what_holds_is_tried_once(tmp_path: Path) -> None:
    difference = Difference(TOLERANCE)
    assert [proven(tmp_path, NET, "simpler", difference) for _ in range(2)] == [TOLERANCE, TOLERANCE]
    assert difference.asked == 1
    assert read(tmp_path, NET).found["simpler"].difference == TOLERANCE


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (TOLERANCE * 2, r"its numbers differ by 0\.0002, more than 0\.0001"),
        (float("nan"), "differ by nan"),
        (ValueError("no\nsuch"), "^no$"),
        (MemoryError(), "MemoryError"),
    ],
    ids=str,
)
def test_what_does_not_hold_is_refused_every_time_and_tried_once(
    tmp_path: Path, found: float | Exception, why: str
) -> None:
    difference = Difference(found)
    for _ in range(2):
        with pytest.raises(ModelError, match=why):
            proven(tmp_path, NET, "simpler", difference)
    assert difference.asked == 1


def test_changes_and_variants_have_proofs_of_their_own(tmp_path: Path) -> None:
    proven(tmp_path, NET, "simpler", Difference(0.0))
    others = [("416x256", NET), ("simpler", Variant("net", "onnxruntime", "fp32", size=320))]
    for change, variant in others:
        assert proven(tmp_path, variant, change, difference := Difference(TOLERANCE)) == TOLERANCE
        assert difference.asked == 1


def test_without_a_folder_it_is_tried_every_time() -> None:
    difference = Difference(0.0)
    assert [proven(None, NET, "simpler", difference) for _ in range(2)] == [0.0, 0.0]
    assert difference.asked == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff",
        b" " * (LARGEST + 1),
        b'{"engine":"onnxruntime 0.1","edition":EDITION,"found":{"simpler":{"difference":0.0}}}',
        b'{"engine":"ENGINE","edition":0,"found":{"simpler":{"difference":0.0}}}',
        b'{"engine":"ENGINE","edition":EDITION,"found":{"simpler":{"difference":"0"}}}',
    ],
    ids=["empty", "no keys", "no text", "too large", "another engine", "older changes", "no number"],
)
def test_what_was_kept_otherwise_is_found_anew(tmp_path: Path, content: bytes) -> None:
    proven(tmp_path, NET, "simpler", Difference(0.0))
    (path,) = tmp_path.iterdir()
    path.write_bytes(
        content.replace(b"ENGINE", read(tmp_path, NET).engine.encode()).replace(b"EDITION", b"%d" % EDITION)
    )
    assert proven(tmp_path, NET, "simpler", difference := Difference(TOLERANCE)) == TOLERANCE
    assert difference.asked == 1


def test_the_newest_proofs_are_kept_and_reasons_are_short(tmp_path: Path) -> None:
    for number in range(MOST + 3):
        with pytest.raises(ModelError):
            proven(tmp_path, NET, f"change{number}", Difference(ValueError("x" * 9999)))
    kept = read(tmp_path, NET).found
    assert list(kept) == [f"change{number}" for number in range(3, MOST + 3)]
    assert max(len(each.refused) for each in kept.values()) <= LONGEST


def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert proven(tmp_path / "file", NET, "simpler", Difference(0.0)) == 0.0
