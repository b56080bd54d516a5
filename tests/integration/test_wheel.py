"""The wheel, in an environment that has what it requires and nothing else, outside of the checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pipelines.cli import PACKAGES
from tests.doc_pages import ROOT
from tests.pipelines.run.test_run_query import write_clip

NOT_COPIED = (".*", "__pycache__", "build", "*.egg-info", "out")
QUERY = "examples/vehicles.yaml"
MQTT = "version: 1\nsinks: [{name: home, to: mqtt, url: 'mqtt://127.0.0.1:1'}]\n"
WEBHOOK = "version: 1\nsinks: [{name: alarms, to: webhook, url: 'http://127.0.0.1:1'}]\n"

EVERY_MODULE = """
import importlib, json, pkgutil, sys
lacking, modules = {}, []
for package in sys.argv[1:]:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        modules.append(found.name)
        try:
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            lacking.setdefault(error.name.partition(".")[0], []).append(found.name)
from pipelines.process.extras import remedy
print(json.dumps([len(modules), {name: of for name, of in lacking.items() if remedy(name) is None}, sorted(lacking)]))
"""

PROGRAM = """
import sluice
results = list(sluice.run("examples/vehicles.yaml", limit=30, frames=True))
print(len(results), "<img" in results[-1]._repr_html_())
try:
    next(sluice.watch("kafka://127.0.0.1:1"))
except sluice.BadInput as error:
    print(error)
"""


@dataclass(frozen=True)
class Installed:
    """The environment, and a folder beside it with what a user has: the examples and a clip."""

    wheel: Path
    python: Path
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in the folder."""
        program = [str(self.python.parent / command[0]), *command[1:]]
        environment = {"HOME": str(self.folder), "PATH": ""}
        return subprocess.run(
            program, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, place / "source", ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", place, place / "source")
    (wheel,) = place.glob("*.whl")
    shutil.rmtree(place / "source")
    venv.create(place / "venv")
    python = place / "venv" / "bin" / "python"
    pip(python, "install", "--no-deps", wheel)
    (site,) = (place / "venv").glob("lib/python*/site-packages")
    (ours,) = Distribution.discover(name="sluice-video", path=[str(site)])
    for entry in set(entries(ours)):
        (site / entry.name).symlink_to(entry)
    shutil.copytree(ROOT / "examples", place / "user" / "examples")
    write_clip(place / "user" / "clip.mp4")
    return Installed(wheel, python, place / "user")


def pip(python: Path | str, *arguments: object) -> None:
    """Without an index: whatever is missing must not be fetched."""
    command = [sys.executable, "-m", "pip", "--python", str(python), *map(str, arguments), "--no-index", "--quiet"]
    subprocess.run(command, check=True)


def entries(ours: Distribution) -> Iterator[Path]:
    """Folders and files of all that it requires without extras, as they lie in the environment of the tests."""
    seen, waiting = set[str](), list(ours.requires or ())
    while waiting:
        needed = Requirement(waiting.pop())
        if needed.name in seen or not (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            continue
        seen.add(needed.name)
        found = distribution(needed.name)
        waiting += found.requires or ()
        names = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
        yield from (Path(str(found.locate_file(name))) for name in names)


def test_it_holds_what_runs_and_nothing_that_a_checkout_has_besides(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        folders = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in folders if not name.endswith(".dist-info")} == set(PACKAGES)


def test_every_module_finds_what_it_imports_or_an_extra_brings_it(installed: Installed) -> None:
    said = installed.run("python", "-W", "error", "-c", EVERY_MODULE, *PACKAGES)
    assert said.returncode == 0, said.stderr
    modules, unknown, lacking = json.loads(said.stdout)
    assert modules > 500
    assert unknown == {}
    assert {"aiokafka", "kafka", "aiohttp", "prometheus_client", "paho", "torch"} <= {*lacking}


def test_the_demo_runs(installed: Installed) -> None:
    assert "the clip that ships" in installed.run("sluice", "demo", "--help").stdout
    said = installed.run("sluice", "demo", "--limit", "60")
    assert said.returncode == 0, said.stderr
    results = [json.loads(line) for line in (installed.folder / "out" / "results.jsonl").read_text().splitlines()]
    assert len(results) == 60
    assert {said["label"] for each in results for seen in each["objects"] for said in seen["attributes"]} >= {"vehicle"}
    assert (installed.folder / "out" / "street.mp4").stat().st_size > 10_000


def test_the_example_runs(installed: Installed) -> None:
    said = installed.run("sluice", "run", QUERY, "--limit", "60", "--out", "results.jsonl", "--annotate", "seen.mp4")
    assert said.returncode == 0, said.stderr
    assert len((installed.folder / "results.jsonl").read_text().splitlines()) == 60


def test_a_program_imports_it_with_its_types(installed: Installed) -> None:
    said = installed.run("python", "-W", "error", "-c", PROGRAM)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == ["30 True", "kafka is not installed: pip install 'sluice-video[kafka]'"]
    with zipfile.ZipFile(installed.wheel) as wheel:
        assert "sluice/py.typed" in wheel.namelist()


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["watch"], "kafka"),
        (["topics", "create"], "kafka"),
        (["capture", QUERY, "--broker", "kafka://127.0.0.1:1"], "kafka"),
        (["worker", QUERY, "--broker", "kafka://127.0.0.1:1"], "kafka"),
        (["serve", "--broker", "kafka://127.0.0.1:1"], "serve"),
        (["run", QUERY, "--serve"], "serve"),
        (["run", QUERY, "--forward", "webhook.yaml"], "serve"),
        (["run", QUERY, "--forward", "mqtt.yaml"], "mqtt"),
        (["backend"], "remote"),
        (["models", "train", "mine", "--from", "examples"], "train"),
    ],
    ids=lambda value: " ".join(value[:2]) + f" {value[-1]}" if isinstance(value, list) else value,
)
def test_what_is_missing_is_one_line_that_names_its_extra(
    installed: Installed, command: Sequence[str], extra: str
) -> None:
    (installed.folder / "mqtt.yaml").write_text(MQTT)
    (installed.folder / "webhook.yaml").write_text(WEBHOOK)
    said = installed.run("sluice", *command)
    assert said.returncode != 0
    assert said.stderr.splitlines()[-1].endswith(f" is not installed: pip install 'sluice-video[{extra}]'")
    assert said.stderr.count("sluice: error: ") == 1


def test_without_extras_a_machine_is_looked_at_and_a_street_is_not_drawn(installed: Installed) -> None:
    assert (
        "pip install 'sluice-video[kafka,serve,mqtt,remote,parquet,train]'" in installed.run("sluice", "doctor").stdout
    )
    said = installed.run("sluice", "run", "synthetic:street?seed=1", "--limit", "2")
    assert said.returncode == 2
    assert "streets are drawn in a checkout of Sluice alone" in said.stderr
