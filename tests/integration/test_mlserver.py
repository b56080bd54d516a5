"""Our client against MLServer, whose networks are described by cards of our catalogue."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest

from operators.detect.decoding import decode
from operators.inference import prepared
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Array, Image
from serving.errors import BackendDown, ModelError
from tests.integration.test_remote_models import SOON, client_of
from tests.models import mean_model, yolox_nano
from tests.real.environments import python_with
from tests.real.ports import free_port
from tests.turns import until

NETWORKS = Path(__file__).with_name("mlserver_networks.py")
KINDS = {1: "FP32", 2: "UINT8"}
"""Types of elements: ONNX's number, and the protocol's name."""


def described(values: list[onnx.ValueInfoProto]) -> list[dict[str, object]]:
    """Tensors of a graph, as MLServer's settings name them."""
    return [
        {
            "name": value.name,
            "datatype": KINDS[value.type.tensor_type.elem_type],
            "shape": [dim.dim_value or -1 for dim in value.type.tensor_type.shape.dim],
        }
        for value in values
    ]


def settings(folder: Path, name: str, weights: Path) -> None:
    """A model of MLServer."""
    graph = onnx.load(weights).graph
    constants = {tensor.name for tensor in graph.initializer}
    (folder / name).mkdir(parents=True)
    said = {
        "name": name,
        "implementation": "mlserver_networks.OnnxNetwork",
        "platform": "onnx",
        "inputs": described([value for value in graph.input if value.name not in constants]),
        "outputs": described([*graph.output]),
        "parameters": {"uri": str(weights), "version": "1"},
    }
    (folder / name / "model-settings.json").write_text(json.dumps(said))


@contextmanager
def mlserver(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """MLServer with the models of a folder, which it may still be loading."""
    python = python_with("mlserver", "onnxruntime")
    shutil.copy(NETWORKS, folder)
    ports = {"http_port": free_port(), "grpc_port": port, "metrics_port": free_port()}
    (folder / "settings.json").write_text(json.dumps({"host": "127.0.0.1", "parallel_workers": 0, **ports}))
    environment = {"PATH": str(python.parent), "PYTHONPATH": str(folder), "HOME": str(folder)}
    command = [str(python), str(python.with_name("mlserver")), "start", str(folder)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def frames(data_dir: Path, count: int) -> list[Image]:
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    images = [np.asarray(video.read()[1], np.uint8) for _ in range(count)]
    video.release()
    return images


@pytest.fixture
def catalogue(tmp_path: Path, data_dir: Path) -> Catalogue:
    """A classifier and the detector, and a classifier whose card the server's tensors do not fit."""
    known = yolox_nano(tmp_path / "models", data_dir)
    mean_model(tmp_path / "models")
    mean_model(tmp_path / "models", "larger", input={"width": 8, "height": 8})
    for name in ("vehicle-type", "yolox-nano", "means", "larger"):
        settings(tmp_path / "server", name, known.find(name).path)
    return known


async def test_a_classifier_and_a_detector_of_mlserver(tmp_path: Path, data_dir: Path, catalogue: Catalogue) -> None:
    images, target = frames(data_dir, 2), f"127.0.0.1:{free_port()}"
    with mlserver(tmp_path / "server", int(target.rpartition(":")[2])) as server:
        async with client_of(target, known=catalogue) as client:
            await until(lambda: client.may_answer, 120)
            for model in ("vehicle-type", "yolox-nano"):
                await client.load(model)
                assert client.identity(model) is None
                card = client.card(model)
                assert card == catalogue.find(model).card
                batch, _ = await prepared(card.input, images)
                told = await client.infer(model, batch, SOON)
                wanted = await local(catalogue, model, batch)
                for mine, theirs in zip(told, wanted, strict=True):
                    np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)
                if model == "yolox-nano":
                    found = [[*map(len, decode(card, outputs))] for outputs in (told, wanted)]
                    assert found[0] == found[1]
                    assert min(found[0]) > 1
            with pytest.raises(ModelError, match="its input images is float32 N × 3 × 4 × 4, its card means"):
                await client.load("larger")
            with pytest.raises(ModelError):
                await client.load("nobody")
            batch = np.zeros((2, 3, 4, 4), np.float32)
            await client.load("means")
            assert (await client.infer("means", batch, SOON))[0].tolist() == [[0.0] * 3] * 2
            server.kill()
            with pytest.raises(BackendDown):
                await client.infer("means", batch, SOON)


async def local(catalogue: Catalogue, model: str, batch: Array) -> list[Array]:
    """What the same network says in this process."""
    engine = Backend(catalogue)
    await engine.start()
    try:
        return await engine.infer(model, batch, SOON)
    finally:
        await engine.stop()
