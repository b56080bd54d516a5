"""Another maker's package with the name of one of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.process.shadowed import PACKAGES, complaint
from tests.pipelines.test_log_lines import OURS
from tests.real.command import environment


def test_every_package_of_the_wheel_is_looked_at_and_ours() -> None:
    assert set(OURS) <= set(PACKAGES)
    assert complaint(OURS) is None


@pytest.mark.parametrize("name", ["datasets", "serving", "operators", "specialization", "cache_adapt"])
def test_a_package_in_front_of_ours_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text('"""Another maker\'s."""\nraise ImportError\n')
    empty = tmp_path / "empty"
    empty.mkdir()
    command = [sys.executable, "-c", "from pipelines.cli import main; main()", "check", "none.yaml"]
    env = environment({"PYTHONPATH": str(tmp_path)})
    said = subprocess.run(command, cwd=empty, env=env, capture_output=True, text=True, check=False)
    (line,) = said.stderr.splitlines()
    assert said.returncode == 1
    assert line.startswith(
        f"sluice: error: another package is installed in place of a part of Sluice: {name} ({tmp_path}"
    )
    assert "pipx install sluice-video" in line


def test_files_of_another_package_over_ours_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "another").mkdir()
    (tmp_path / "another" / "__init__.py").write_text('__version__ = "3.1.0"\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert str(tmp_path / "another" / "__init__.py") in str(complaint(["another"], tmp_path))
