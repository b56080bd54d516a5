from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from serving.catalogue.cards import parse_card, read_card
from serving.catalogue.decodings import CenterFaceDecoding, SsdDecoding, YoloxDecoding
from serving.errors import ModelError
from tests.models import card, write_card


def test_a_card_is_read_with_its_defaults(tmp_path: Path) -> None:
    write_card(tmp_path / "m", other_label="red")
    found = read_card(tmp_path / "m")
    assert (found.name, found.tier, found.classes) == ("m", "reference", ("blue", "green", "red"))
    assert (found.input.resize, found.input.scale, found.other_label) == ("stretch", 1.0, "red")


def test_classes_may_be_a_file_beside_the_card(tmp_path: Path) -> None:
    directory = write_card(tmp_path / "m", classes="names.txt")
    (directory / "names.txt").write_text("cat\n\n dog \n", encoding="utf-8")
    assert read_card(directory).classes == ("cat", "dog")


def test_an_editor_s_mark_is_no_part_of_the_first_class(tmp_path: Path) -> None:
    directory = write_card(tmp_path / "m", classes="names.txt")
    (directory / "names.txt").write_bytes("\ufeffcat\r\ndog\r\n".encode())
    assert read_card(directory).classes == ("cat", "dog")


@pytest.mark.parametrize("name", ["absent.txt", "../names.txt", "/etc/hostname"])
def test_a_file_of_classes_that_is_absent_or_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "names.txt").write_text("cat\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"model\.yaml: classes: "):
        read_card(write_card(tmp_path / "m", classes=name))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"licens": "MIT"}, r"licens: unknown key; did you mean 'licence'\?"),
        ({"licence": None}, "licence: is missing"),
        ({"input": {"width": 4, "height": 4, "widht": 4}}, r"input\.widht: unknown key; did you mean 'width'\?"),
        ({"input": {"width": 0, "height": 4}}, r"input\.width: 0 should be greater than 0"),
        ({"input": {"width": 4, "height": 4, "std": [1, 0, 1]}}, r"input\.std: must not contain 0"),
        (
            {"input": {"width": 4, "height": 4, "resize": "fit"}},
            r"input\.resize: is 'fit'; allowed: stretch, letterbox, crop",
        ),
        ({"input": {"width": 4, "height": 4, "align": "arc"}}, r"input\.align: is 'arc'; did you mean 'arcface'\?"),
        ({"task": "detect"}, "a detector needs 'decoding'"),
        (
            {"task": "detect", "decoding": {"kind": "yolov"}},
            "decoding.kind: is 'yolov'; did you mean 'yolo'\\? allowed: yolox, yolo, ssd, centerface",
        ),
        (
            {"task": "detect", "decoding": {"kind": "ssd", "box_oder": "xyxy"}},
            r"decoding\.box_oder: unknown key; did you mean 'box_order'\?",
        ),
        ({"classes": None}, "'classes' is missing"),
        ({"classes": ["smoke"]}, "one class of logits is always certain: put a sigmoid behind it"),
        ({"classes": list(range(1000))}, r"classes\[0\]: should be text; put it in quotes \(and 999 more\)"),
        ({"temperature": 0.0}, "temperature"),
        (
            {"temperature": 2.0, "scores": "probabilities"},
            "'temperature' is for logits: remove it, or say scores: logits",
        ),
        ({"other_label": "purple"}, "other_label 'purple' is not one of the classes"),
        ({"file": "net.pkl"}, r"file: must be an \.onnx file"),
        ({"file": "../net.onnx"}, "file: "),
        ({"sha256": "12"}, "sha256: "),
        ({"name": "Bad Name"}, "name: "),
        ({"accuracy": [{"dataset": "d", "split": "s", "value": 0.9, "n": 0}]}, r"accuracy\[0\]\.n: "),
    ],
)
def test_what_is_wrong_is_one_line_with_its_key(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        read_card(write_card(tmp_path / "m", **changes))
    assert str(caught.value).startswith(str(tmp_path / "m" / "model.yaml"))
    assert "\n" not in str(caught.value)


def test_several_problems_are_several_lines(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        read_card(write_card(tmp_path / "m", licence=None, tear="compact"))
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("text", ["[", "- a list", "", "!!python/object/apply:os.getcwd []", "\x00"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"model\.yaml: (not valid YAML|must be a mapping)"):
        read_card(tmp_path)


def test_a_missing_card_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be read \(No such file"):
        read_card(tmp_path)


def test_decodings_are_told_apart_by_kind(tmp_path: Path) -> None:
    yolox = parse_card(card(tmp_path / "a", task="detect", decoding={"kind": "yolox"}), "a")
    ssd = parse_card(card(tmp_path / "b", task="detect", decoding={"kind": "ssd", "nms_iou": None}), "b")
    assert isinstance(yolox.decoding, YoloxDecoding)
    assert isinstance(ssd.decoding, SsdDecoding)
    assert ssd.decoding.nms_iou is None
    faces = parse_card(card(tmp_path / "c", task="detect", decoding={"kind": "centerface"}), "c")
    assert isinstance(faces.decoding, CenterFaceDecoding)


def test_an_embedder_needs_no_classes(tmp_path: Path) -> None:
    assert parse_card(card(tmp_path / "m", task="embed", classes=None), "m").classes == ()


def test_a_card_survives_a_round_trip_through_yaml(tmp_path: Path) -> None:
    first = read_card(write_card(tmp_path / "m"))
    assert parse_card(yaml.safe_load(yaml.safe_dump(first.model_dump(mode="json"))), "again") == first


def test_a_cards_identity_is_that_of_its_weights_and_of_what_the_network_is_fed() -> None:
    known = parse_card(card(Path("m")), "m")
    described = known.model_copy(update={"description": "other", "version": "9", "licence": "MIT"})
    assert described.identity == known.identity
    inputs = [
        {"width": 9},
        {"mean": (0.1, 0.1, 0.1)},
        {"std": (2.0, 2.0, 2.0)},
        {"detail": 24},
        {"margin": 0.5},
        {"colour": "bgr" if known.input.colour == "rgb" else "rgb"},
    ]
    others = [known.model_copy(update={"input": known.input.model_copy(update=each)}).identity for each in inputs]
    others += [known.model_copy(update={"sha256": "f" * 64}).identity]
    assert len({known.identity, *others}) == len(others) + 1


def test_what_a_card_says_though_it_goes_without_saying_changes_no_identity() -> None:
    plain = card(Path("m"))
    said = {**plain, "input": {**plain["input"], "detail": None, "pad": 114}}
    assert parse_card(said, "m").identity == parse_card(plain, "m").identity
