"""What the documentation says of the code is so: files, modules, names in them, layers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from tests.doc_pages import PAGES, ROOT, blocks, each, links, text

FILES = {
    file.relative_to(ROOT).as_posix()
    for shown in ROOT.iterdir()
    if not shown.name.startswith(".")
    for file in ([shown] if shown.is_file() else shown.rglob("*"))
    if file.is_file() and not any(part.startswith(".") for part in file.relative_to(ROOT).parts)
}
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = "pipelines|operators|specialization|cache_adapt|learning|serving|datasets|benchmarks|tests"
TO_BE_MADE = {"places.py", "test_places.py", "ground.py", "test_ground.py", "make_brightness.py", "NAME.py"}
"""Files that a how-to tells its reader to write, and a word that stands for any name."""


def made(name: str) -> str:
    """The file of a module."""
    return f"{name.rpartition('.')[2]}.py"


def files(page: Path) -> list[str]:
    """Python files and tables of figures, with as much of their path as the page gives."""
    found = re.findall(r"(?<![\w/.<{-])((?:[\w-]+/)*[\w-]+\.(?:py|csv))\b", text(page))
    return [name for name in found if Path(name).name not in TO_BE_MADE and not name.endswith("/NAME.csv")]


@pytest.mark.parametrize(("page", "name"), each(files))
def test_files_that_are_named_exist(page: Path, name: str) -> None:
    assert any(file == name or file.endswith(f"/{name}") for file in FILES), f"{page.name} names {name}: no such file"


def folders(page: Path) -> list[str]:
    return re.findall(rf"`((?:{PACKAGES})(?:/[\w-]+)+)/?`", text(page))


@pytest.mark.parametrize(("page", "folder"), each(folders))
def test_folders_that_are_named_exist(page: Path, folder: str) -> None:
    assert (ROOT / folder).is_dir()


def dotted(page: Path) -> list[str]:
    found = re.findall(rf"\b((?:{PACKAGES})(?:\.\w+)+)", text(page))
    return [
        name
        for name in found
        if not re.search(r"\.(md|py|json|v1)$", name) and f"{name.split('.')[-1]}.py" not in TO_BE_MADE
    ]


@pytest.mark.parametrize(("page", "name"), each(dotted))
def test_modules_and_names_in_them_exist(page: Path, name: str) -> None:
    resolve_name(name)  # raises where there is no such thing


def imported(page: Path) -> list[str]:
    """The lines of examples in Python that import something of ours."""
    code = "\n".join(blocks(page, "python"))
    found = re.findall(rf"^(from (?:{PACKAGES})[\w.]* import [\w, ]+)", code, re.M)
    return [
        line for line in found if made(line.split()[1]) not in TO_BE_MADE and f"class {line.split()[3]}(" not in code
    ]


@pytest.mark.parametrize(("page", "line"), each(imported))
def test_what_examples_import_can_be_imported(page: Path, line: str) -> None:
    exec(line, {})


def contracts(page: Path) -> list[str]:
    return re.findall(r"`\w+` in `[\w/]+\.py`", text(page))


@pytest.mark.parametrize(("page", "said"), each(contracts))
def test_a_name_in_a_file_is_there(page: Path, said: str) -> None:
    name, file = re.findall(r"`([^`]+)`", said)
    assert re.search(rf"^(class {name}\b|def {name}\b|{name}\b.* = )", text(ROOT / file), re.M)


LAYERS = [contract for contract in PYPROJECT["tool"]["importlinter"]["contracts"] if contract["type"] == "layers"]


@pytest.mark.parametrize("contract", LAYERS, ids=lambda contract: contract["name"])
def test_the_layers_on_the_page_are_those_that_are_checked(contract: dict[str, Any]) -> None:
    _, _, rest = text(ARCHITECTURE).partition(f"\n### {contract['name']}\n")
    drawn = re.match(r"\s*```\n(.*?)\n```", rest, re.S)
    assert drawn, f"docs/architecture.md does not draw {contract['name']!r}"
    assert [re.split(r"\s{2,}", line)[0] for line in drawn[1].splitlines()] == contract["layers"]


@pytest.mark.parametrize("page", PAGES[2:], ids=lambda page: page.name)
def test_every_page_is_linked_from_the_index(page: Path) -> None:
    indices = [ROOT / "docs" / "README.md", ROOT / "docs" / "decisions" / "README.md"]
    linked = {(index.parent / link.partition("#")[0]).resolve() for index in indices for link in links(index)}
    assert page in {*linked, indices[0]}
