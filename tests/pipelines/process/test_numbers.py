"""Numbers of options are in their range, and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.cli import sluice


@pytest.mark.parametrize(
    ("value", "said"), [("nan", "'nan' is no number."), ("-1", "x>0"), ("soon", "not a valid float")]
)
def test_what_is_no_number_in_the_range_is_refused(tmp_path: Path, value: str, said: str) -> None:
    alive = tmp_path / "alive"
    alive.write_text("")
    found = CliRunner().invoke(sluice, ["health", str(alive), "--max-age", value])
    assert found.exit_code == 2
    assert said in found.output


@pytest.mark.parametrize("value", ["inf", "1e10"])
def test_a_backend_drains_for_a_day_at_most(value: str) -> None:
    found = CliRunner().invoke(sluice, ["backend", "--drain", value])
    assert found.exit_code == 2
    assert "0<=x<=86400" in found.output
