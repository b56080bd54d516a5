"""The bar is for people at a terminal; pipes get nothing."""

from __future__ import annotations

import pytest

from pipelines.process.safe_console import work_bar


def shown(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    with work_bar("[red]model") as report:
        report("measured", 0.5)
        report("done", 1.0)
    return capsys.readouterr()


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == ("", "")


def test_a_terminal_gets_name_and_step_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out, err = shown(capsys)
    assert out == ""
    assert "[red]model: done" in err
