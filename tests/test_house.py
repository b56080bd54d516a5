"""The house is in order: every room's front door names what lies in it, folders stay short, tests mirror them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pipelines.cli import PACKAGES

ROOT = Path(__file__).parents[1]
FOLDERS = (*PACKAGES, "datasets", "tools")
ROOMS = sorted({file.parent for package in FOLDERS for file in (ROOT / package).rglob("*.py")})
MOST_NAMES = 18
WITHOUT_FOLDER_OF_TESTS = {
    "operators/testing",  # its checks are run by the tests of every operator and shortcut
    "datasets/street",  # whole pictures are what is tested, in tests/datasets
    "datasets/street/actors",
    "datasets/street/drawing",
    "datasets/street/surroundings",
}


def name(folder: Path) -> str:
    return folder.relative_to(ROOT).as_posix()


def contents(folder: Path) -> list[str]:
    """What one sees of a folder: its front door and what Python leaves there do not count."""
    return sorted(entry.name for entry in folder.iterdir() if entry.name not in ("__init__.py", "__pycache__"))


def front_door(room: Path) -> tuple[str, list[str]]:
    """What a room says of itself, and the names in its reading order."""
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    paragraph, _, order = said.partition("\n\nRead in this order: ")
    return paragraph, re.findall(r"``(\w+)``", order)


@pytest.mark.parametrize("room", ROOMS, ids=name)
def test_a_room_names_all_that_lies_in_it_and_nothing_else(room: Path) -> None:
    modules = {file.stem for file in room.glob("*.py")} - {"__init__"}
    rooms = {file.parent.name for file in room.glob("*/__init__.py")}
    _, order = front_door(room)
    assert sorted(order) == sorted(modules | rooms), f"{name(room)}: the reading order is not what lies there"


@pytest.mark.parametrize("room", ROOMS, ids=name)
def test_a_room_says_in_a_sentence_or_more_what_it_is_for(room: Path) -> None:
    paragraph, _ = front_door(room)
    assert len(paragraph.split()) >= 8, f"{name(room)}/__init__.py: say what lives there"
    assert paragraph.endswith(".")


@pytest.mark.parametrize("folder", ROOMS, ids=name)
def test_a_folder_shows_few_names(folder: Path) -> None:
    assert len(contents(folder)) <= MOST_NAMES, f"{name(folder)}: make a room of what belongs together"


FEW_LINES = 8
OBSERVERS = {"Observer", "EngineObserver"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def product() -> list[tuple[Path, ast.Module]]:
    modules = [module for package in PACKAGES for module in sorted((ROOT / package).rglob("*.py"))]
    return [(module, ast.parse(module.read_text(encoding="utf-8"))) for module in modules]


def test_a_class_has_a_name_of_its_own() -> None:
    """Only the front door says words again: its classes stand for those of messages and of the query file."""
    places: dict[str, list[str]] = {}
    for module, tree in product():
        if module.parent.name != "sluice":
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(name(module))
    assert {each: found for each, found in places.items() if len(found) > 1} == {}


def is_contract(node: ast.AST) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    bases = map(ast.unparse, node.bases)
    return node.name in OBSERVERS or any(base.startswith("Protocol") or base == "ABC" for base in bases)


def public_functions(body: list[ast.stmt]) -> list[Function]:
    """Those of a module and of its public classes."""
    found = []
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found += public_functions(node.body)
        elif isinstance(node, Function) and not node.name.startswith("_"):
            found.append(node)
    return found


def test_contracts_and_what_takes_more_than_a_few_lines_say_what_they_do() -> None:
    """What a contract says is not said again by those that keep it; a few lines say themselves what they do."""
    modules = product()
    contracts = [node for _, tree in modules for node in ast.walk(tree) if is_contract(node)]
    promised = [method for contract in contracts for method in public_functions(contract.body)]
    kept = {method.name for method in promised}
    functions = [(module, each) for module, tree in modules for each in public_functions(tree.body)]
    silent = [f"a contract's {each.name}" for each in promised if ast.get_docstring(each) is None]
    silent += [
        f"{name(module)}:{each.lineno} {each.name}"
        for module, each in functions
        if each.name not in kept and each.end_lineno - each.body[0].lineno >= FEW_LINES
        if ast.get_docstring(each) is None
    ]
    assert not silent


IMPURE = {
    "asyncio",
    "os",
    "random",
    "secrets",
    "selectors",
    "signal",
    "socket",
    "subprocess",
    "threading",
    "time",
    "uuid",
}


def calls_itself_pure(module: Path) -> bool:
    return bool(re.search(r"\b[Pp]ure\b", ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""))


MODULES = [file for room in ROOMS for file in room.glob("*.py") if file.name != "__init__.py"]
ALL = [*MODULES, *sorted(file for folder in ("benchmarks", "tests") for file in (ROOT / folder).rglob("*.py"))]


def test_what_calls_itself_pure_knows_no_clock_no_chance_no_thread_and_no_file() -> None:
    pure = [*filter(calls_itself_pure, MODULES)]
    assert len(pure) > 50
    assert {name(module): found for module in pure if (found := imported(module) & IMPURE)} == {}


def imported(module: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))
    found = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return found | {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def test_a_module_that_logs_calls_its_logger_log() -> None:
    assert {name(module): found for module in MODULES if (found := loggers(module)) not in ([], ["log"])} == {}


def loggers(module: Path) -> list[str]:
    return re.findall(r"^(\w+)\b.*= logging\.getLogger\(__name__\)", module.read_text(encoding="utf-8"), re.M)


def test_no_docstring_begins_with_of_or_whose() -> None:
    wrong = {name(module): [text for text in said(module) if re.match(r"(Of|Whose)\b", text)] for module in ALL}
    assert {module: found for module, found in wrong.items() if found} == {}


def test_a_docstring_of_the_product_names_its_thing_and_does_not_begin_with_what() -> None:
    wrong = {name(module): [text for text in said(module) if text.startswith("What ")] for module, _ in product()}
    assert {module: found for module, found in wrong.items() if found} == {}


ROLES = r"(other part(y|ies)|one party|[Ww]hoever|what is known of)\b"


def test_docstrings_of_the_product_name_things_and_not_roles() -> None:
    wrong = {name(module): [text for text in said(module) if re.search(ROLES, text)] for module, _ in product()}
    assert {module: found for module, found in wrong.items() if found} == {}


def said(module: Path) -> list[str]:
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    bare = [node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return [str(text.value) for text in bare]


@pytest.mark.parametrize("room", [room for room in ROOMS if name(room) not in WITHOUT_FOLDER_OF_TESTS], ids=name)
def test_every_room_has_tests(room: Path) -> None:
    assert list((ROOT / "tests" / name(room)).rglob("test_*.py")), f"there are no tests for {name(room)}"


def test_tests_lie_where_the_code_lies() -> None:
    folders = {file.parent for package in FOLDERS for file in (ROOT / "tests" / package).rglob("*.py")}
    mirrored = {(ROOT / folder.relative_to(ROOT / "tests")) for folder in folders}
    assert sorted(map(name, mirrored - set(ROOMS))) == []
