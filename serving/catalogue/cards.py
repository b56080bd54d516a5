"""Model cards: ``model.yaml`` beside the weights describes a network, its input and its output."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, field_validator, model_validator

from serving.catalogue.decodings import Decoding, Share
from serving.common.explain import Strict, validate
from serving.errors import ModelError

CARD_FILE = "model.yaml"
SAFE_LOADER: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, written in C, where PyYAML was built with it."""

Task = Literal["detect", "classify", "embed"]
Triple = tuple[float, float, float]
FileName = Annotated[str, Field(pattern=r"^[\w][\w.+-]*$")]
Alignment = Literal["arcface"]
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
"""The form of a model's name."""
Word = Annotated[str, Field(max_length=256)]
"""As long as results allow."""


class ImageInput(Strict):
    """How pixels become the network's input: ``(pixel × scale − mean) / std``, channels in the order of ``colour``."""

    width: int = Field(gt=0, le=8192)
    """Pixels."""
    height: int = Field(gt=0, le=8192)
    colour: Literal["rgb", "bgr"] = "rgb"
    scale: float = 1.0
    mean: Triple = (0.0, 0.0, 0.0)
    std: Triple = (1.0, 1.0, 1.0)
    resize: Literal["stretch", "letterbox", "crop"] = "stretch"
    """``letterbox`` keeps the aspect ratio, padding right and below; ``crop`` keeps it, cutting the longer side."""
    pad: int = Field(default=114, ge=0, le=255)
    """Grey level of the letterbox's padding."""
    detail: int | None = Field(default=None, gt=0)
    """Pixels of width and of height that are kept of larger pictures, by averaging, before they are resized: a network
    that learnt from small pictures meets no detail that it has not seen."""
    layout: Literal["nchw", "nhwc"] = "nchw"
    dtype: Literal["float32", "float16", "uint8"] = "float32"
    margin: float = Field(default=0.0, ge=0.0, le=2.0)
    """Recognisers widen a region's box by this share of its size on every side before they crop."""

    align: Alignment | None = None
    """Recognisers lay faces upright as in the network's training pictures, where the detector tells their landmarks."""
    any_size: bool = False
    """The graph names the size of an example, but can take any: it is opened for this one."""

    @property
    def item_shape(self) -> tuple[int, int, int]:
        return (3, self.height, self.width) if self.layout == "nchw" else (self.height, self.width, 3)

    @field_validator("std")
    @classmethod
    def _not_zero(cls, std: Triple) -> Triple:
        if 0.0 in std:
            raise ValueError("must not contain 0")
        return std


class Accuracy(Strict):
    """A measured figure: never copied from a paper without saying so in ``dataset``."""

    dataset: str
    split: str
    metric: str = "top-1"
    value: float
    n: int = Field(gt=0)
    """Items measured."""


class ModelCard(Strict):
    """One network. ``classes`` are in the order of the network's outputs, without any background class."""

    name: str = Field(pattern=f"^{NAME.pattern}$")
    version: Word
    tier: Word = "reference"
    """``reference`` or ``compact``, or any other word for a step between accuracy and speed."""
    task: Task
    file: FileName
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str
    source: str
    """Where it comes from: a URL, or the training script."""
    description: str = ""
    input: ImageInput
    outputs: tuple[str, ...] = ()
    """Names of the graph's outputs in the order that the task expects; empty: the graph's own order."""
    classes: tuple[Word, ...] = ()
    scores: Literal["logits", "probabilities"] = "logits"
    """The kind of values in a classifier's output."""
    temperature: float = Field(default=1.0, gt=0.0, le=100.0)
    """Logits are divided by it: with the right one, answers of confidence c are right in a share c of the cases (Guo et
    al., 2017, section 4.2)."""
    min_confidence: Share = 0.0
    """A classifier's answers that are less certain become ``unknown``, unless a query says otherwise."""
    views: str = ""
    """How the camera stands to the objects in the pictures learnt from: other views are not known."""
    other_label: str | None = None
    """The class that means "none of these"."""
    decoding: Decoding | None = None
    min_similarity: Share = 0.4
    """For an embedder: the cosine above which two pictures show the same thing."""
    max_batch: int | None = Field(default=None, gt=0)
    joules: float | None = Field(default=None, gt=0, le=1e6)
    """The energy of one picture, for budgets on machines that do not measure it."""
    accuracy: tuple[Accuracy, ...] = ()

    @property
    def identity(self) -> str:
        """Digest of the weights and of what the network is fed: the key of all that is built, learnt or measured.

        Another size, other normalisation or detail make another network of the same file. 64 hexadecimal digits.
        """
        return hashlib.sha256(f"{self.sha256} {_fed(self.input)}".encode()).hexdigest()

    def read(self, there: Iterable[str]) -> Sequence[str]:
        """The outputs that are read, in order, where a graph has these; of a recogniser's, the first."""
        names = self.outputs or tuple(there)
        return names if self.task == "detect" else names[:1]

    @field_validator("file")
    @classmethod
    def _onnx(cls, file: str) -> str:
        if not file.endswith(".onnx"):
            raise ValueError("must be an .onnx file (pickled weights are never loaded)")
        return file

    @model_validator(mode="after")
    def _complete(self) -> ModelCard:
        if self.task == "detect" and self.decoding is None:
            raise ValueError("a detector needs 'decoding' with kind: yolox, yolo, ssd, centerface or boxes")
        if self.task != "embed" and not self.classes:
            raise ValueError("'classes' is missing: a list of names, or the name of a file with one on each line")
        if self.other_label is not None and self.other_label not in self.classes:
            raise ValueError(f"other_label {self.other_label!r} is not one of the classes")
        if self.task == "classify" and self.scores == "logits" and len(self.classes) == 1:
            raise ValueError("one class of logits is always certain: put a sigmoid behind it, scores: probabilities")
        if self.temperature != 1.0 and self.scores != "logits":
            raise ValueError("'temperature' is for logits: remove it, or say scores: logits")
        return self


@lru_cache(maxsize=256)
def _fed(size: ImageInput) -> str:
    """An input as digests are made of it: each answer of a backend tells its network's."""
    # What is not said in a card must not count: a later version may know of more.
    return json.dumps(size.model_dump(exclude_defaults=True), sort_keys=True)


def read_card(directory: Path) -> ModelCard:
    """Read ``model.yaml`` of a model's directory; raises ModelError with one line per problem."""
    path = directory / CARD_FILE
    raw = _load(path)
    if isinstance(raw.get("classes"), str):
        raw["classes"] = _class_names(path, directory / raw["classes"])
    return parse_card(raw, str(path))


def parse_card(raw: dict[str, Any], where: str) -> ModelCard:
    """Validate a card's mapping; raises ModelError with one line per problem, each beginning with ``where``."""
    card, problems = validate(ModelCard, raw)
    if card is None:
        raise ModelError("\n".join(f"{where}: {problem}" for problem in problems))
    return card


def safe_load(text: str) -> Any:
    """Parse YAML of plain types; raises yaml.YAMLError."""
    return yaml.load(text, Loader=SAFE_LOADER)  # noqa: S506 (both loaders are safe)


def write_card(directory: Path, card: ModelCard) -> None:
    """Write ``model.yaml`` of a model's directory, leaving out what was left at its default."""
    content = yaml.safe_dump(card.model_dump(mode="json", exclude_unset=True), sort_keys=False, width=120)
    (directory / CARD_FILE).write_text(content, encoding="utf-8")


def _load(path: Path) -> dict[str, Any]:
    try:
        raw = safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    if not isinstance(raw, dict):
        raise ModelError(f"{path}: must be a mapping of keys such as name, task and file")
    return raw


def _class_names(card: Path, file: Path) -> list[str]:
    if file.parent != card.parent:
        raise ModelError(f"{card}: classes: must be a file in the same directory")
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()  # editors put a mark before the first name
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{card}: classes: cannot read {file.name} ({error})") from None
    return [line.strip() for line in lines if line.strip()]
