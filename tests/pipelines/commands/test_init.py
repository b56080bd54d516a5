"""What ``sluice init`` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.commands.init import _write_secret
from serving.errors import BadInput


def test_a_secret_lies_in_a_folder_that_is_made_as_for_the_query(tmp_path: Path) -> None:
    file = tmp_path / "cameras" / "yard.secret"
    _write_secret(file, "a password")
    assert file.read_text() == "a password\n"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_place_where_no_secret_can_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cameras").write_text("a file")
    with pytest.raises(BadInput, match=r"yard.secret: cannot be written \("):
        _write_secret(tmp_path / "cameras" / "yard.secret", "a password")
