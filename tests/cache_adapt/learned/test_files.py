"""Exits in files: what was written is read, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache_adapt.learned import files
from serving.errors import ModelError
from tests.cache_adapt.learned.taught import SHA, exits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "exits.safetensors"


def test_what_is_written_is_read(path: Path) -> None:
    made = exits(200)
    assert files.write(path, made) == files.digest(made.to_bytes())
    found = files.read(path, "vehicle", SHA)
    assert found is not None
    assert found.to_bytes() == made.to_bytes()


def test_no_file_is_none(path: Path) -> None:
    assert files.read(path, "vehicle", SHA) is None


def test_a_damaged_one_is_refused(path: Path) -> None:
    files.write(path, exits(200))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        ModelError, match="damaged, its sha256 is not the one beside it; learn them again: sluice learn"
    ):
        files.read(path, "vehicle", SHA)


def test_garbage_with_its_digest_is_refused(path: Path) -> None:
    files.write(path, exits(200))
    path.write_bytes(b"garbage")
    path.with_name(f"{path.name}.sha256").write_text(files.digest(b"garbage"))
    with pytest.raises(ModelError, match=f"^{path}: .*learn them again"):
        files.read(path, "vehicle", SHA)


@pytest.mark.parametrize(
    ("model", "others"), [("vehicle", "other weights, or another input, than here"), ("face", "vehicle")]
)
def test_those_of_another_network_are_refused(path: Path, model: str, others: str) -> None:
    files.write(path, exits(200))
    with pytest.raises(ModelError, match=f"made for {others}, not for {model}"):
        files.read(path, model, "cd" * 32)
