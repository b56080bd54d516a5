"""The bars of a run: in a terminal and in a notebook, nowhere else."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest

from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from operators.wire.schema import Result, from_json
from pipelines.process.safe_console import SafeConsole
from pipelines.run.progress import RunProgress
from tests.integration.test_watch import a_result

SPEC = CaptureSpec(stream="gate", uri=SourceUri("clip.mp4"), sampling=Sampling("all"))


def drawn(console: SafeConsole) -> None:
    with RunProgress([SPEC], console) as bars:
        for seq in range(3):
            bars.frame_analysed(from_json(a_result("gate", seq), Result))


def test_a_terminal_shows_a_bar_for_each_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = SafeConsole()
    console.file = said = io.StringIO()
    drawn(console)
    assert "gate" in said.getvalue()
    assert "3 frames" in said.getvalue()


def test_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    console = SafeConsole()
    console.file = said = io.StringIO()
    drawn(console)
    assert said.getvalue() == ""


class Output:
    """Stands for that of ipywidgets."""

    def __enter__(self) -> None:
        """Collects what is shown."""

    def __exit__(self, *_: object) -> None:
        """Nothing."""

    def clear_output(self, wait: bool) -> None:
        """Nothing."""


def test_a_notebook_shows_them_as_a_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    display, widgets = ModuleType("IPython.display"), ModuleType("ipywidgets")
    display.display, widgets.Output = shown.append, Output  # type: ignore[attr-defined]
    for name, module in {"IPython": ModuleType("IPython"), "IPython.display": display, "ipywidgets": widgets}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.console.Console.print", lambda *_, **__: None)
    drawn(SafeConsole())
    assert isinstance(shown[0], Output)
