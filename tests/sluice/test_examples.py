"""The notebook runs; the page about operators shows the package that is an example."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.doc_pages import ROOT, blocks

EXAMPLES = ROOT / "examples"


def cells(notebook: Path) -> list[str]:
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def shown(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last line, where that is an expression."""
    body = ast.parse(cell).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs_and_shows_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, Any] = {}
    values = [shown(cell, names) for cell in cells(EXAMPLES / "street.ipynb")]
    assert "<img" in values[2]._repr_html_()
    assert {"car", "truck"} & set(values[3])
    assert len(values[4]) == 3


def test_the_page_shows_the_package_as_it_is() -> None:
    page = (ROOT / "docs" / "how-to" / "add-an-operator.md").read_text(encoding="utf-8")
    for name in ("sluice_ground.py", "test_sluice_ground.py", "pyproject.toml", "ground.yaml"):
        assert f"\n{(EXAMPLES / 'own-operator' / name).read_text(encoding='utf-8')}```\n" in page, name


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "api.md"], ids=lambda page: page.name)
def test_the_first_lines_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "clip.mp4").symlink_to(EXAMPLES / "street.mp4")
    monkeypatch.chdir(tmp_path)
    (code, *_) = blocks(page, "python")
    exec(code, {})
    assert re.search(r"^\d+ \d+ \w+", capsys.readouterr().out, re.M)
