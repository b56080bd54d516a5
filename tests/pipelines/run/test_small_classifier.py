"""A user's small classifier: heads spare it nothing, so next to nothing is spent on them, and it is said why."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
import yaml
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from tests.models import write_card
from tools.architectures.export import to_onnx

SIDE, PICTURES = 32, 150
SHAPES = ("disc", "ring", "box", "cross")


def picture(shape: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """One of the shapes, somewhere, in some colour."""
    image = rng.integers(0, 60, (SIDE, SIDE, 3), dtype=np.uint8)
    x, y = (int(each) for each in rng.integers(11, SIDE - 11, 2))
    colour, radius = tuple(int(each) for each in rng.integers(120, 256, 3)), int(rng.integers(6, 11))
    match SHAPES[shape]:
        case "disc":
            cv2.circle(image, (x, y), radius, colour, -1)
        case "ring":
            cv2.circle(image, (x, y), radius, colour, 2)
        case "box":
            cv2.rectangle(image, (x - radius, y - radius), (x + radius, y + radius), colour, -1)
        case "cross":
            cv2.line(image, (x - radius, y - radius), (x + radius, y + radius), colour, 3)
            cv2.line(image, (x - radius, y + radius), (x + radius, y - radius), colour, 3)
    return image


def network() -> nn.Module:
    """0.17 million parameters, trained for a second."""
    torch.manual_seed(0)
    made = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 8 * 8, 80),
        nn.ReLU(),
        nn.Linear(80, len(SHAPES)),
    )
    rng = np.random.default_rng(1)
    shown = rng.integers(0, len(SHAPES), 400)
    rows = torch.tensor(np.stack([picture(shape, rng) for shape in shown]).transpose(0, 3, 1, 2) / 255).float()
    optimiser = torch.optim.Adam(made.parameters(), 2e-3)
    for _ in range(12):
        for part in torch.randperm(len(rows)).split(50):
            optimiser.zero_grad()
            cross_entropy(made(rows[part]), torch.tensor(shown)[part]).backward()
            optimiser.step()
    return made.eval()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, and with a stream of which two shapes make up nine tenths."""
    folder = tmp_path_factory.mktemp("small")
    model = folder / "models" / "shapes"
    model.mkdir(parents=True)
    (model / "net.onnx").write_bytes(to_onnx(network(), SIDE).SerializeToString())
    write_card(model, classes=list(SHAPES), input={"width": SIDE, "height": SIDE, "colour": "bgr", "scale": 1 / 255})
    (folder / "stream").mkdir()
    rng = np.random.default_rng(2)
    for number, shape in enumerate(rng.choice(len(SHAPES), PICTURES, p=[0.45, 0.45, 0.05, 0.05])):
        cv2.imwrite(str(folder / "stream" / f"{number:04}.png"), picture(int(shape), rng))
    return folder


def run(place: Path) -> tuple[float, dict[str, Any]]:
    """Processor seconds of ``sluice run`` with ``specialize: true``, and its report."""
    query = {
        "version": 1,
        "name": "small",
        "slo_ms": 60_000,
        "streams": [{"id": "shapes", "uri": str(place / "stream")}],
        "nodes": [{"name": "shape", "task": "recognise", "input": "frame", "model": "shapes", "specialize": True}],
    }
    (place / "query.yaml").write_text(yaml.safe_dump(query))
    known = {**os.environ, "SLUICE_CACHE": str(place / "cache"), "SLUICE_MODELS": str(place / "models")}
    command = [sys.executable, "-m", "pipelines.cli", "run", str(place / "query.yaml"), "--report", str(place / "r")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=known)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report: dict[str, Any] = json.loads((place / "r").read_text())
    return used_s, report


def test_specializing_costs_next_to_nothing_and_says_why_it_does_nothing(place: Path) -> None:
    used_s, report = run(place)
    (found,) = report["specialization"]
    assert (found["oracle"], found["head"], found["fallback"]) == (PICTURES, 0, 0)
    assert found["processor_s"]["spent"] <= 0.02 * used_s
    # The slower the machine, the more a look takes: then exits could pay, but not within some seconds.
    reason = found["reason"] or "a look of shapes takes some ms of processor time"
    assert re.match(r"a look of shapes takes .* of processor time", reason)
