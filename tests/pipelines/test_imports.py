"""What each command may import by the time it tells of a typo: heavy libraries only where they are needed for that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.endless import looping_model
from tests.pipelines.run.test_run_query import write_clip

RUN = {"aiokafka", "av", "cv2", "faust", "numpy", "onnxruntime", "psutil", "pydantic", "rich", "safetensors"}
"""What every run needs. Faust itself imports ``aiokafka``, whatever its transport."""
NETWORKS = {"onnx"}
"""What a run needs that recognises: graphs of networks."""
BROKERS = {"kafka", "aiokafka.admin", "faust.transport.drivers.aiokafka", "operators.transports.kafka"}
"""What only a broker is spoken to by."""
LEARNING = {
    "operators.recognise.exits.heard_exits",
    "cache_adapt.learned.artefact",
    "cache_adapt.learned.pooled",
    "cache_adapt.learned.rows",
    "cache_adapt.adaptation.here",
}
"""What only nodes with ``specialize`` or ``caches`` need."""
ANNOTATING = {"operators.annotate.annotator"}
"""What only a run that draws needs."""
BUDGETS = {"serving.budgets"}
"""What only a query with a budget of a day needs."""
HEAVY = (
    RUN
    | NETWORKS
    | BROKERS
    | LEARNING
    | ANNOTATING
    | BUDGETS
    | {
        "aiohttp",
        "grpc",
        "paho",
        "prometheus_client",
        "datasets.street",
        "torch",
        "openvino",
        "sklearn",
        "scipy",
    }
)

PROBE = """
import json, sys
from pipelines import cli
sys.argv[0] = "sluice"
cli._leave = sys.exit
try:
    cli.main()
finally:
    print(json.dumps(sorted(set(json.loads({heavy!r})) & sys.modules.keys())))
"""

BROKER = ("--broker", "kafka://127.0.0.1:1")
TYPOS: list[tuple[str, Sequence[str], str]] = [
    ("help", ["--help"], ""),
    ("unknown command", ["rum"], ""),
    ("health", ["health", "none"], ""),
    ("check", ["check", "wrong.yaml"], "pydantic"),
    ("check, missing file", ["check", "none.yaml"], "pydantic"),
    ("check, misspelt model", ["check", "model.yaml"], "pydantic"),
    ("check, endpoint without a budget", ["check", "endless.yaml"], "pydantic"),
    ("init, no camera", ["init", "--yes"], "pydantic"),
    ("init, misspelt word", ["init", "--yes", "--source", "clip.mp4", "--find", "mooving"], "pydantic"),
    ("run", ["run", "wrong.yaml"], "pydantic"),
    ("run, unknown option", ["run", "right.yaml", "--sorce", "a"], "pydantic"),
    ("run, misspelt model", ["run", "model.yaml"], "pydantic"),
    ("run, wrong source", ["run", "right.yaml", "--source", "htp://a"], "pydantic"),
    ("run, served to others without a secret", ["run", "right.yaml", "--listen", "0.0.0.0:1"], "pydantic"),
    ("run, no address", ["run", "right.yaml", "--listen", "here"], "pydantic"),
    ("run, wrong file of sinks", ["run", "right.yaml", "--forward", "wrong.yaml"], "pydantic"),
    ("replay", ["replay", "none", "wrong.yaml"], "pydantic"),
    ("worker", ["worker", "wrong.yaml", *BROKER], "pydantic"),
    ("worker, misspelt model", ["worker", "model.yaml", *BROKER], "pydantic"),
    ("worker, wrong broker", ["worker", "right.yaml", "--broker", "http://a"], "pydantic"),
    ("worker, nothing to adapt", ["worker", "still.yaml", "--adapt", *BROKER], "pydantic"),
    ("adapt", ["adapt", "wrong.yaml", *BROKER], "pydantic"),
    ("adapt, misspelt model", ["adapt", "model.yaml", *BROKER], "pydantic"),
    ("capture", ["capture", "wrong.yaml", *BROKER], "pydantic"),
    ("capture, no broker", ["capture", "right.yaml"], "pydantic"),
    ("watch", ["watch", "--nope"], "kafka pydantic"),
    ("topics", ["topics", "create", "wrong.yaml", *BROKER], "kafka pydantic"),
    ("serve, no broker", ["serve"], "pydantic"),
    ("serve, unsafe address", ["serve", *BROKER, "--listen", "0.0.0.0:1"], "pydantic"),
    ("forward", ["forward", "wrong.yaml", *BROKER], "pydantic"),
    ("forward, no broker", ["forward", "sinks.yaml"], "pydantic"),
    ("doctor, wrong broker", ["doctor", "--broker", "http://a"], "pydantic"),
    ("backend, open to others", ["backend", "--listen", "0.0.0.0:1"], "pydantic"),
    ("backend, misspelt model", ["backend", "--load", "endles"], "pydantic"),
    ("demo", ["demo", "--nope"], "pydantic"),
    ("learn", ["learn", "wrong.yaml"], "pydantic rich"),
    ("learn, misspelt model", ["learn", "model.yaml"], "pydantic rich"),
    ("models list", ["models", "list", "--nope"], "pydantic rich"),
    ("models profile", ["models", "profile", "none"], "pydantic rich"),
    ("models split", ["models", "split", "none"], "numpy onnx psutil pydantic rich"),
    ("models train", ["models", "train", "mine", "--from", "none"], "pydantic rich"),
]

RIGHT = """\
version: 1
name: imports
slo_ms: 5000
streams:
  - uri: clip.mp4
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
  - {name: kind, task: recognise, input: track, model: endless}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    looping_model(tmp_path, above=2)
    (tmp_path / "right.yaml").write_text(RIGHT)
    (tmp_path / "still.yaml").write_text(RIGHT.replace("model: endless", "model: endless, specialize: false"))
    asks = "{endpoint: 'http://127.0.0.1:9/v1', name: a, labels: [car]}"
    (tmp_path / "endless.yaml").write_text(RIGHT.replace("endless", asks))
    (tmp_path / "wrong.yaml").write_text(RIGHT.replace("nodes:", "noes:"))
    (tmp_path / "sinks.yaml").write_text("version: 1\nsinks: [{name: a, to: webhook, url: 'http://a'}]\n")
    (tmp_path / "model.yaml").write_text(RIGHT.replace("endless", "endles"))
    return tmp_path


def imported(folder: Path, arguments: Sequence[str]) -> tuple[int, set[str]]:
    """The exit status of a command, and the heavy modules that it imported."""
    probe = PROBE.format(heavy=json.dumps(sorted(HEAVY)))
    environment = {"PATH": "", "HOME": str(folder), "SLUICE_MODELS": str(folder)}
    command = [sys.executable, "-c", probe, *arguments]
    said = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return said.returncode, set(json.loads(said.stdout.splitlines()[-1]))


@pytest.mark.parametrize(("arguments", "allowed"), [each[1:] for each in TYPOS], ids=[each[0] for each in TYPOS])
def test_a_typo_is_told_before_anything_heavy_is_imported(folder: Path, arguments: Sequence[str], allowed: str) -> None:
    status, found = imported(folder, arguments)
    assert found <= set(allowed.split())
    assert status == (0 if arguments == ["--help"] else 1 if arguments[0] == "health" else 2)


def test_a_good_query_is_checked_by_what_runs_it(folder: Path) -> None:
    write_clip(folder / "clip.mp4")
    (folder / "right.yaml").write_text(RIGHT.replace("endless", "vehicle-type"))
    status, found = imported(folder, ["check", "right.yaml"])
    assert status == 0
    assert found <= RUN | NETWORKS


def test_a_run_imports_what_it_needs_and_no_more(folder: Path) -> None:
    write_clip(folder / "clip.mp4")
    status, found = imported(folder, ["run", "right.yaml"])
    assert status == 0
    assert found <= RUN | NETWORKS


def test_a_run_that_only_detects_and_tracks_imports_neither_graphs_nor_statistics(folder: Path) -> None:
    write_clip(folder / "clip.mp4")
    (folder / "track.yaml").write_text(RIGHT[: RIGHT.index("  - {name: kind")])
    status, found = imported(folder, ["run", "track.yaml"])
    assert status == 0
    assert found <= RUN


def test_a_run_with_an_endpoint_imports_http_and_one_without_does_not(folder: Path) -> None:
    write_clip(folder / "clip.mp4")
    spec = "{endpoint: 'http://127.0.0.1:9/v1', name: a, labels: [car], budget: {per_day: 9 calls}}"
    (folder / "asks.yaml").write_text(RIGHT.replace("endless", spec))
    status, found = imported(folder, ["run", "asks.yaml"])
    assert status == 0
    assert found <= RUN | NETWORKS | BUDGETS | {"aiohttp"}
    assert "aiohttp" in found


def test_grpc_is_imported_where_a_remote_model_is_named_and_nowhere_else(folder: Path) -> None:
    write_clip(folder / "clip.mp4")
    text = RIGHT.replace("nodes:", "backends: {gpu: {url: 'grpc://127.0.0.1:9'}}\nnodes:")
    (folder / "remote.yaml").write_text(text.replace("model: endless", "model: [endless, endless on gpu]"))
    for name, brings in [("right", False), ("remote", True)]:
        status, found = imported(folder, ["run", f"{name}.yaml"])
        assert status == 0
        assert ("grpc" in found) is brings
        assert found <= RUN | NETWORKS | {"grpc"}


def test_a_run_that_may_learn_imports_nothing_of_it_before_that_can_be_paid(folder: Path) -> None:
    write_clip(folder / "clip.mp4")
    (folder / "learn.yaml").write_text(
        RIGHT.replace("model: endless", "model: endless, specialize: true, caches: true")
    )
    status, found = imported(folder, ["run", "learn.yaml"])
    assert status == 0
    assert found <= RUN | NETWORKS
