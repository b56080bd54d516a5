"""Figures know when they were measured, what they exercise, and how much has changed since."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import stale


def commit(root: Path, files: dict[str, str], day: str) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    when = f"{day}T12:00:00+00:00"
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", *who, "commit", "-qm", day, f"--date={when}"], cwd=root, check=True)


def version(said: str) -> dict[str, str]:
    return {"pyproject.toml": f'[project]\nversion = "{said}"\n'}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a benchmark ``a`` that was measured on the second day."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    code = {
        "benchmarks/a.py": "from benchmarks.a_parts import part\nfrom benchmarks.harness import run\n",
        "benchmarks/a_parts/__init__.py": "",
        "benchmarks/a_parts/part.py": "import serving.near\n",
        "benchmarks/harness.py": "import serving.far\n",
        "serving/near.py": "import serving.far\n",
        "serving/far.py": "",
    }
    commit(tmp_path, code | version("0.1.0"), "2026-01-01")
    commit(tmp_path, {"benchmarks/results/a.csv": "# 2026-01-02; a machine\nx\n1\n"}, "2026-01-02")
    return tmp_path


def age(root: Path) -> stale.Age:
    return stale.ages(root)[0]


def test_parts_and_what_they_import_count_and_the_harness_and_what_lies_further_do_not(root: Path) -> None:
    assert set(age(root).files) == {
        "benchmarks/a.py",
        "benchmarks/a_parts/__init__.py",
        "benchmarks/a_parts/part.py",
        "serving/near.py",
    }
    assert age(root).commits_since == 0
    commit(
        root, {"serving/near.py": "x = 1\n", "benchmarks/a.py": "from benchmarks.a_parts import part\n"}, "2026-01-03"
    )
    commit(root, {"serving/far.py": "x = 1\n"}, "2026-01-03")
    assert age(root).commits_since == 1


def test_networks_that_ship_count_where_a_benchmark_names_them(root: Path) -> None:
    near, far = "serving/models/near/model.onnx", "serving/models/near-by/model.onnx"
    commit(root, {near: "1", far: "1", "benchmarks/a_parts/part.py": 'NETWORK = "near"\n'}, "2026-01-03")
    commit(root, {"benchmarks/results/a.csv": "# 2026-01-04; a machine\nx\n1\n"}, "2026-01-04")
    assert near in age(root).files
    commit(root, {far: "2"}, "2026-01-05")
    assert age(root).commits_since == 0
    commit(root, {near: "2"}, "2026-01-05")
    assert age(root).commits_since == 1


def test_a_column_that_is_renamed_later_makes_no_figure_younger(root: Path) -> None:
    commit(root, {"serving/near.py": "x = 1\n"}, "2026-01-03")
    commit(root, {"benchmarks/results/a.csv": "# 2026-01-02; a machine\ny\n1\n"}, "2026-01-04")
    assert age(root).commits_since == 1
    commit(root, {"benchmarks/results/a.csv": "# 2026-01-05; a machine\ny\n2\n"}, "2026-01-05")
    assert age(root).commits_since == 0


def test_releases_are_counted_by_the_version_at_the_figures_commit(root: Path) -> None:
    behind = []
    for day, said in enumerate(["0.2.0", "0.2.1"], 3):
        commit(root, version(said), f"2026-01-0{day}")
        behind.append(age(root).releases_since)
    assert behind == [1, 2]


def test_the_most_stale_comes_first(root: Path) -> None:
    commit(root, {"benchmarks/b.py": "import serving.far\n", "serving/near.py": "x = 1\n"}, "2026-01-03")
    commit(root, {"benchmarks/results/b.csv": "# 2026-01-03; a machine\nx\n1\n"}, "2026-01-03")
    assert [Path(each.csv).stem for each in stale.ages(root)] == ["a", "b"]


def test_without_history_nothing_is_said(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    bare, shallow = tmp_path_factory.mktemp("tarball"), tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{root}", shallow], check=True)
    for folder in (bare, shallow, root / "serving"):
        with pytest.raises(stale.NoHistory):
            stale.ages(folder)


def test_no_figure_is_more_than_a_release_behind() -> None:
    try:
        found = stale.ages()
    except stale.NoHistory as error:
        pytest.skip(f"nothing says when figures were measured: {error}")
    assert [each.csv for each in found if each.releases_since > 1] == []
