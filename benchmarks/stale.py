"""Figures that are older than what they measure: ``python -m benchmarks.stale``, most stale first.

A figure is as old as the commit that measured it: the newest that changed its CSV up to the day in the first line, for
later ones only rename a column. It measures its benchmark, the parts of it, the modules that these import directly, and
the networks that ship and that they name.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HARNESS = "benchmarks/harness.py"
WEIGHTS = "serving/models/*/model.onnx"


class NoHistory(Exception):
    """The folder is no whole git repository, so nothing says when a figure was measured."""


@dataclass(frozen=True)
class Age:
    """How old one CSV is."""

    csv: str
    commit: str
    files: tuple[str, ...]
    """What the benchmark exercises, as paths from the root."""
    commits_since: int
    """Those that changed one of the files."""
    releases_since: int


def git(root: Path, *words: str) -> list[str]:
    """The lines that git prints; raises ``NoHistory`` where it fails."""
    run = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if run.returncode:
        raise NoHistory(f"git {words[0]} in {root}: {run.stderr.strip()}")
    return run.stdout.splitlines()


def check_history(root: Path) -> None:
    """Raise ``NoHistory`` unless the root is a repository with all of its commits."""
    if Path(git(root, "rev-parse", "--show-toplevel")[0]).resolve() != root.resolve():
        raise NoHistory(f"{root} is not the top of a git repository")
    if git(root, "rev-parse", "--is-shallow-repository") == ["true"]:
        raise NoHistory(f"{root} is a shallow clone: git fetch --unshallow brings the other commits")


def imported(root: Path, path: str) -> Iterator[str]:
    """The files of the repository that a Python file imports, as paths from the root."""
    for node in ast.walk(ast.parse((root / path).read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        for name in names:
            module = name.replace(".", "/")
            yield from (file for file in (f"{module}.py", f"{module}/__init__.py") if (root / file).is_file())


def exercised(root: Path, benchmark: str) -> tuple[str, ...]:
    """The benchmark with its parts, what these import, and the networks that ship and that they name.

    The harness, which all share, is left out.
    """
    found, waiting = set(), [benchmark]
    weights = {path.parent.name: path.relative_to(root).as_posix() for path in root.glob(WEIGHTS)}
    while waiting:
        path = waiting.pop()
        if path not in found and path != HARNESS:
            found.add(path)
            if path.startswith("benchmarks/"):
                waiting += imported(root, path)
                said = set(re.findall(r"[\w-]+", (root / path).read_text(encoding="utf-8")))
                found |= {weights[name] for name in said & weights.keys()}
    return tuple(sorted(found))


def measured_at(root: Path, csv: str) -> str:
    """The commit that measured a CSV."""
    day = re.match(r"# (\d{4}-\d\d-\d\d)", (root / csv).read_text(encoding="utf-8"))
    commits = [line.split() for line in git(root, "log", "--format=%H %as", "--", csv)]
    return next((commit for commit, when in commits if day and when <= day[1]), commits[-1][0])


def release(root: Path, commit: str) -> str:
    return str(tomllib.loads("\n".join(git(root, "show", f"{commit}:pyproject.toml")))["project"]["version"])


def ages(root: Path = ROOT) -> list[Age]:
    """All committed CSVs, most stale first; raises ``NoHistory``."""
    check_history(root)
    changes = git(root, "log", "--reverse", "--format=%H", "-G^version = ", "--", "pyproject.toml")
    releases = list(dict.fromkeys(release(root, commit) for commit in [*changes, "HEAD"]))
    found = []
    names = git(root, "ls-tree", "--name-only", "HEAD", "benchmarks/results/")
    for csv in (name for name in names if name.endswith(".csv")):
        benchmark = f"benchmarks/{Path(csv).stem}.py"
        commit, files = measured_at(root, csv), exercised(root, benchmark)
        since = len(git(root, "log", "--format=%h", f"{commit}..HEAD", "--", *files))
        behind = len(releases) - 1 - releases.index(release(root, commit))
        found.append(Age(csv, commit[:8], files, since, behind))
    return sorted(found, key=lambda age: (-age.releases_since, -age.commits_since, age.csv))


if __name__ == "__main__":
    for age in ages():
        print(
            f"{Path(age.csv).stem}: {age.commits_since} commits to {len(age.files)} files since {age.commit},"
            f" {age.releases_since} releases"
        )
