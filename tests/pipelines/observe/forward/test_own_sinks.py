"""Sinks of the user's own: classes of installed packages, with keys that are checked as ours are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.observe.forward.opening import open_sinks
from pipelines.observe.forward.sinks_file import load_sinks
from serving.errors import BadInput
from tests.doc_pages import ROOT, blocks
from tests.packages import installed
from tests.pipelines.observe.forward.test_sinks_file import HOOK, written
from tests.real.command import sluice

PAGE = ROOT / "docs" / "how-to" / "forward-events.md"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of the how-to, on the path of modules."""
    entry_points = blocks(PAGE, "toml")[-1].replace('project.entry-points."sluice.sinks"', "sluice.sinks")
    code = blocks(PAGE, "python")[-1]
    folder = installed(tmp_path / "installed", "sluice_lines", code, entry_points.replace('"', ""))
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("sluice_lines", None)


def test_a_run_tells_a_sink_of_another_package(package: Path, tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    file = written(tmp_path, f"{{name: own, to: lines, path: '{said}', kinds: [new, state]}}")
    asked = ROOT / "examples" / "vehicles.yaml", "--source", ROOT / "examples" / "street.mp4"
    done = sluice("run", *asked, "--limit", 60, "--forward", file, env={"PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stderr
    assert {line.split()[-1] for line in said.read_text().splitlines()} == {"new", "state"}


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        ("{name: own, to: lines, paht: x}", "sinks[0].paht: unknown key; did you mean 'path'? allowed: name, kinds"),
        ("{name: own, to: lines}", "sinks[0].path: is missing"),
        (
            "{name: own, to: lyns, path: x}",
            "sinks[0].to: is 'lyns'; did you mean 'lines'? allowed: lines,",
        ),
    ],
)
def test_its_keys_are_checked(package: Path, tmp_path: Path, sink: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_sinks(written(tmp_path, sink))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("class Lines(sluice.Sink)", "class Lines", "async def run(self, …)"),
        ("async def deliver", "def deliver", "async def deliver(self, …)"),
    ],
)
def test_a_class_that_is_no_sink_is_refused(package: Path, tmp_path: Path, was: str, now: str, told: str) -> None:
    file = package / "sluice_lines.py"
    file.write_text(file.read_text().replace(was, now))
    with pytest.raises(BadInput) as caught:
        load_sinks(written(tmp_path, "{name: own, to: lines, path: x}"))
    assert told in str(caught.value)


def test_a_file_with_sinks_of_ours_alone_imports_no_other_package(package: Path, tmp_path: Path) -> None:
    open_sinks(load_sinks(written(tmp_path, f"{HOOK}}}")), tmp_path / "sinks.yaml")
    assert "sluice_lines" not in sys.modules
