from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from click.testing import CliRunner, Result

from learning.store import FeatureStore
from pipelines.commands.specialize import command
from serving.errors import BadInput, ModelError, SluiceError
from specialization.templates.stored import open_template
from tests.models import write_card
from tests.serving.graphs.onnx_graphs import CLASSES, classifier, entry

COUNT = 160
TINTS = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200]])


@pytest.fixture(autouse=True)
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SLUICE_MODELS", raising=False)
    monkeypatch.setattr("specialization.templates.cost.BUDGET_S", 0.01)
    # The small oracle's first layer is most of it.
    monkeypatch.setattr("specialization.templates.derive.EARLY", 0.9)
    monkeypatch.setattr("specialization.templates.stored.EARLY", 0.9)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    entry(tmp_path / "models", name="oracle")
    entry(tmp_path / "models", classifier(seed=1, width=8), name="small", tier="compact")
    return tmp_path / "models"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """In folders within folders, coloured so that networks say different things of them."""
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        folder = tmp_path / "photos" / f"{number % 3}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        picture = np.clip(TINTS[number % 3] + rng.normal(0, 30, (8, 8, 3)), 0, 255).astype(np.uint8)
        cv2.imwrite(str(folder / f"{number}.png"), picture)
    return tmp_path / "photos"


def sluice(*arguments: str) -> Result:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    if result.exception is not None:
        raise result.exception
    return result


def profile(models: Path, photos: Path, *arguments: str) -> Any:
    common = ["profile", "oracle", "--models", str(models), "--data", str(photos)]
    return json.loads(sluice(*common, "--json", *arguments).stdout)


def test_templates_are_made_with_store_and_rates(models: Path, photos: Path, tmp_path: Path) -> None:
    compact, early = profile(models, photos)
    assert [each["template"] for each in (compact, early)] == ["small-features", "oracle-early90"]
    for each in (compact, early):
        assert (each["oracle"], each["samples"], each["cost_is"]) == ("oracle", COUNT, "latency")
        assert each["data"] == f"{COUNT} pictures of photos"
        directory = tmp_path / "cache" / "templates" / each["template"]
        assert each["directory"] == str(directory)
        assert open_template(directory).has_store
        assert set(FeatureStore.open(directory).labels) <= set(range(len(CLASSES)))
        assert {row["tolerance"] for row in each["measured"]} == {0.005, 0.01, 0.015, 0.025, 0.05}
        assert {"a_in", "e_in_out", "a_out"} == set(each["measured"][0]["rates"]["1"])


def test_a_table_says_the_same(models: Path, photos: Path) -> None:
    shown = sluice("profile", "oracle", "--models", str(models), "--data", str(photos)).stdout
    assert "small-features" in shown
    assert f"of the latency of oracle; {COUNT} pictures of photos" in shown
    assert "e_in→out" in shown
    assert shown.splitlines()[-1].startswith("heads ")


def test_it_is_said_at_which_accuracy_heads_cannot_be_used(models: Path, photos: Path) -> None:
    common = ["profile", "oracle", "--models", str(models), "--data", str(photos)]
    last = sluice(*common, "--accuracy", "0.999").stdout.splitlines()[-1]
    assert last.startswith("heads will not be used at accuracy 0.999: those of small-features may be wrong in 0.05%")
    assert sluice(*common, "--accuracy", "1").stdout.splitlines()[-1] == (
        "heads will not be used at accuracy 1: it allows for no disagreement at all"
    )


def test_the_same_pictures_are_not_forwarded_again(models: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = profile(models, photos)
    with monkeypatch.context() as patch:
        patch.setattr("pipelines.measure.template_making.forward", lambda *_: pytest.fail("forwarded again"))
        after = profile(models, photos)
        assert [each["measured"] for each in after] == [each["measured"] for each in before]
    damaged = Path(after[0]["directory"]) / "features.npy"
    damaged.write_bytes(b"cut")
    profile(models, photos)
    assert len(FeatureStore.open(damaged.parent).labels) == COUNT
    (photos / "0" / "deep" / "0.png").unlink()
    assert profile(models, photos)[0]["samples"] == COUNT - 1


def test_again_forwards_again(models: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile(models, photos)

    def refuse(*_: object) -> None:
        raise SluiceError("forwarded again")

    monkeypatch.setattr("pipelines.measure.template_making.forward", refuse)
    with pytest.raises(SluiceError, match="forwarded again"):
        profile(models, photos, "--again")


def test_a_compact_network_can_be_named(models: Path, photos: Path) -> None:
    entry(models, classifier(seed=2, width=4), name="other", tier="fast")
    names = [each["template"] for each in profile(models, photos, "--template", "other")]
    assert names == ["other-features", "oracle-early90"]


def test_a_damaged_picture_is_passed_over(models: Path, photos: Path) -> None:
    (photos / "0" / "deep" / "0.png").write_bytes(b"no picture")
    assert profile(models, photos)[0]["samples"] == COUNT - 1


def test_templates_are_listed(models: Path, photos: Path, tmp_path: Path) -> None:
    profile(models, photos)
    rows = json.loads(sluice("list", "--json").stdout)
    assert [row["template"] for row in rows] == ["oracle-early90", "small-features", "vehicle-type-compact-features"]
    (tmp_path / "cache" / "templates" / "small-features" / "template.json").write_text("{")
    shown = sluice("list").stdout
    assert "not a template" in " ".join(shown.split())
    assert "make it again with: sluice specialize profile" in " ".join(shown.split())
    assert "vehicle-type-compact-features" in shown


def test_what_is_wrong_is_one_line(models: Path, photos: Path, tmp_path: Path) -> None:
    detector = {"task": "embed", "classes": None, "tier": "compact"}
    entry(models, name="embedder", **detector)
    (tmp_path / "empty").mkdir()
    cases = [
        (["oracl", "--data", str(photos)], ModelError, "unknown model 'oracl'"),
        (["embedder", "--data", str(photos)], BadInput, "templates are for classifiers"),
        (["oracle", "--data", str(tmp_path / "no")], BadInput, "no such folder"),
        (["oracle", "--data", str(tmp_path / "empty")], BadInput, "no pictures"),
        (["oracle", "--data", str(photos), "--template", "embedder"], BadInput, "not a classifier of the classes of"),
    ]
    for arguments, error, problem in cases:
        with pytest.raises(error, match=problem) as caught:
            sluice("profile", "--models", str(models), *arguments)
        assert "\n" not in str(caught.value)


def test_too_few_pictures_are_one_line(models: Path, photos: Path) -> None:
    for path in sorted(photos.rglob("*.png"))[5:]:
        path.unlink()
    with pytest.raises(SluiceError, match="too few to judge heads"):
        profile(models, photos)


def test_other_classes_are_no_template(models: Path, photos: Path) -> None:
    write_card(models / "small", tier="compact", classes=["a", "b", "c"])
    assert [each["template"] for each in profile(models, photos)] == ["oracle-early90"]


def test_the_list_can_be_that_of_some_models_and_says_what_they_lack(models: Path) -> None:
    done = CliRunner().invoke(command, ["list", "--models", str(models)])
    assert done.output.splitlines() == [
        f"{name}: no template yet: `sluice specialize profile {name} --models {models}` makes one"
        for name in ("oracle", "small")
    ]
    rows = json.loads(CliRunner().invoke(command, ["list", "--models", str(models), "--json"]).output)
    assert [row["oracle"] for row in rows] == ["oracle", "small"]
