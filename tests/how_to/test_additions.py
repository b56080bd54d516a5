"""The how-tos that add something to Sluice: a model, an operator, an observer."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.doc_pages import ROOT
from tests.how_to.reader import Reader
from tests.models import yolox_nano


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_operator_is_added(tmp_path: Path) -> None:
    with Reader("add-an-operator", tmp_path, PYTHONPATH=".:packages") as reader:
        package = reader.folder / "package"
        package.mkdir()
        reader.write("package/sluice_ground.py", "python")
        reader.write("package/test_sluice_ground.py", "python")
        assert "3 passed" in reader.run("cd package && python -m pytest -q -p no:cacheprovider")
        script = reader.block("python")
        reader.write("ground.yaml", "yaml")
        reader.write("package/pyproject.toml", "toml")
        (reader.folder / "clip.mp4").symlink_to(ROOT / "examples" / "street.mp4")

        install, check, run = reader.commands()
        assert install == "pip install ."
        offline = "--quiet --no-deps --no-build-isolation --no-index --disable-pip-version-check"
        reader.run(f"python -m pip install {offline} --target packages ./package")
        assert "ground" in reader.run(check)
        reader.run(f"{run} --limit 60")
        found = results(reader.folder / "results.jsonl")
        places = {said["label"] for each in found for seen in each["objects"] for said in seen["attributes"]}
        assert places <= {"road", "yard", "outside"}
        assert places
        assert "place" in found[-1]["plan"]["stages_ms"]
        assert re.search(r"^\d+ \d+ (road|yard)$", reader.python(script), re.M)

        recogniser = reader.block("python")
        reader.write("light.yaml", "yaml")
        assert re.search(r"'(bright|dark)'", reader.python(recogniser))


def test_an_observer_is_added(tmp_path: Path) -> None:
    with Reader("add-an-observer", tmp_path) as reader:
        count = "print(sum(not each.plan.deadline_met for each in results), 'were late')"
        said = reader.python(reader.block("python") + reader.block("python"), after=count)
        assert f"{len(re.findall(r'^carpark [0-9]+: [0-9]+ ms$', said, re.M))} were late" in said


TWO_INPUTS = """
import numpy as np, onnx
graph = "d (float[N,3,9,9] images, int64[N,2] orig_target_sizes) => (int64[N,2] y) { y = Identity(orig_target_sizes) }"
onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {graph}'), "detector.onnx")
"""


def test_a_model_is_added(tmp_path: Path) -> None:
    with Reader("add-a-model", tmp_path) as reader:
        (reader.folder / "classes.txt").write_text("sparrow\nswift\n")
        (reader.folder / "clip.mp4").symlink_to(ROOT / "examples" / "street.mp4")
        export = reader.commands()
        reader.python(
            reader.block("python"),
            before="import safetensors.torch, torch\n"
            "from tools.architectures.registry import find\n"
            "torch.save(find('resnet50').build(2).state_dict(), 'resnet50.pth')",
        )
        for line in export:
            reader.run(line)
        network = "import torch\nfrom tools.architectures.registry import find\nnetwork = find('resnet18').build(2)"
        (reader.folder / "export.py").write_text(f"{network}\n{reader.block('python')}")
        reader.run("python export.py")
        assert (reader.folder / "net.onnx").stat().st_size > 1 << 20
        given = reader.python(reader.block("python"), before=TWO_INPUTS, after="print(model.graph.initializer[0].name)")
        assert "orig_target_sizes" in given
        reader.write("make_brightness.py", "python")
        reader.run("python make_brightness.py")
        assert "brightness" in reader.follow()
        reader.write("brightness.yaml", "yaml")
        reader.follow()
        found = results(reader.folder / "results.jsonl")
        said = {answer["label"] for each in found for seen in each["objects"] for answer in seen["attributes"]}
        assert said & {"bright", "dark"}


@pytest.mark.data
def test_a_recogniser_is_trained(tmp_path: Path, data_dir: Path) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    settings = {"SLUICE_MODELS": str(tmp_path / "models"), "XDG_DATA_HOME": str(tmp_path / "data")}
    with Reader("train-a-recogniser", tmp_path, **settings) as reader:
        reader.yard(data_dir / "videos" / "person-bicycle-car-detection.mp4")
        record, cut, by_answer = reader.commands()
        reader.run(record)
        reader.run(cut)
        assert list((reader.folder / "crops").glob("*/*.jpg"))
        reader.run(by_answer)
        assert list((reader.folder / "crops-by-type").glob("*/*.jpg"))
        shutil.rmtree(reader.folder / "crops")
        with zipfile.ZipFile(data_dir / "crops" / "road_clip.zip") as crops:  # pictures from elsewhere do as well
            for kind in ("car", "truck"):
                names = sorted(name for name in crops.namelist() if f"/{kind}/" in f"/{name}" and name.endswith(".jpg"))
                (reader.folder / "crops" / kind).mkdir(parents=True)
                for name in names[:: max(1, len(names) // 40)]:
                    (reader.folder / "crops" / kind / Path(name).name).write_bytes(crops.read(name))
        for line in reader.commands():
            assert "likeliest class right" in reader.run(line)
        reader.write("named.yaml", "yaml")
        reader.run("sluice check named.yaml")
