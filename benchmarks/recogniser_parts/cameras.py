"""Crops of real street cameras, named by networks that have not seen their camera.

For each of ``FOLDS`` the recipe of ``vehicle-type`` is trained anew on everything but its cameras, which takes minutes
with a GPU and hours without; each crop is then named by the network that has not seen its camera. Beside it, the same
crops are named by the network that shipped before, out of the repository's history, and by the detector, which costs
nothing where it runs anyway.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.recogniser_parts.calibration import Scored, calibration_error, temperature
from benchmarks.recogniser_parts.looks import DATA, fetch
from datasets.camera_crops import Crop
from datasets.street import TYPES as DRAWN_TYPES
from serving.catalogue.cards import read_card
from serving.catalogue.lookup import SHIPPED, Catalogue, Entry
from serving.catalogue.public import public_model
from serving.common.tensors import Image, softmax
from serving.engines.network import run_in_steps
from serving.loading.opening import open_model
from serving.preprocess import batch
from tools.shipped.collect import CORRECTIONS, FOLDS, SHARES, TYPES, Sources
from tools.shipped.recipes import VEHICLE_TYPES, Recipe
from tools.shipped.train_recognisers import looks_of, train
from tools.shipped.training import to_tensor
from tools.shipped.tuning import Looks

BEFORE = "4215aa9"
"""The commit whose ``vehicle-type`` is measured beside it."""
NIGHT = ("cam04", "cam05n")
SMALL = 48
"""Pixels of the longer side below which a crop is small."""
CANVAS, SHOWN = 416, 208
"""The detector sees a crop enlarged to so many pixels, in the middle of a grey picture of its own size."""
GREY = 114
SAID_BY_DETECTOR = ("car", "bus", "truck", "motorcycle", "bicycle")
DETECTED = 0.3
"""The detector's least score, as its card has it."""
TWO_WHEELER = "two-wheeler"
COARSE = {"motorcycle": TWO_WHEELER, "bicycle": TWO_WHEELER, "bike": TWO_WHEELER}
COARSE |= {"juggernaut": "truck", "minibus": "van"}
BALANCED = ("car", "van", "truck", "bus", TWO_WHEELER)
"""The words over which accuracy is balanced."""
LEAST_OF_A_KIND = 5
ASKED = 600
"""Crops that the network before and the detector are shown, which take long."""
STEP = 64
KEPT = Path(__file__).parents[2] / ".cache" / "left-out"
"""Logits of the folds, by everything that they follow from but the code."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Named:
    """What somebody says of some crops: a word, or "" for none, and how sure that is."""

    crops: Sequence[Crop]
    words: Sequence[str]
    confidence: Floats

    @property
    def truth(self) -> list[str]:
        """The type of each crop, ``|`` between those that may be right; "" for what a recogniser does not name."""
        return [true(crop) for crop in self.crops]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each word is right."""
        pairs = zip(self.words, self.truth, strict=True)
        return np.array(
            [not {*DRAWN_TYPES.get(word, (word,))}.isdisjoint(true.split("|")) for word, true in pairs], bool
        )

    def of(self, wanted: Callable[[Crop], bool]) -> Named:
        """The part about some of the crops."""
        return self.at(np.array([wanted(crop) for crop in self.crops], bool))

    def at(self, places: NDArray[np.bool_]) -> Named:
        """The part in some places."""
        chosen: list[int] = np.flatnonzero(places).tolist()
        return Named([self.crops[i] for i in chosen], [self.words[i] for i in chosen], self.confidence[chosen])

    def named(self, least: float) -> NDArray[np.bool_]:
        """Which have a word that is sure enough."""
        return np.array([bool(word) for word in self.words], bool) & (self.confidence >= least)

    def balanced(self) -> float:
        """Mean over the words of ``BALANCED`` of the share that is called so, whatever the confidence."""
        said, true = np.array([COARSE.get(w, w) for w in self.words]), np.array([COARSE.get(w, w) for w in self.truth])
        shares = [(said[true == kind] == kind).mean() for kind in BALANCED if (true == kind).sum() >= LEAST_OF_A_KIND]
        return float(np.mean(shares)) if shares else float("nan")

    def coverage(self, least: float) -> float:
        """Share of the crops with a type that are named so surely."""
        return float(self.named(least)[[bool(true) for true in self.truth]].mean())

    def precision(self, least: float) -> float:
        """Share of right ones among the names given; NaN where none is."""
        given = self.named(least)
        return float(self.right[given].mean()) if given.any() else float("nan")

    def coverage_at(self, right: float) -> float:
        """Share of the crops with a type that may be named so that this share of the names is right."""
        given = np.flatnonzero(self.named(0.0))
        order = given[np.argsort(-self.confidence[given], kind="stable")]
        shares = np.cumsum(self.right[order]) / np.arange(1, len(order) + 1)
        enough = np.flatnonzero(shares >= right)
        return (int(enough[-1]) + 1 if len(enough) else 0) / sum(bool(true) for true in self.truth)

    def error(self) -> float:
        """Expected calibration error of the names."""
        given = self.named(0.0)
        return calibration_error(self.confidence[given], self.right[given])


@dataclass(frozen=True)
class LeftOut:
    """Logits of networks that have not seen the crops' cameras."""

    crops: Sequence[Crop]
    logits: NDArray[np.float32]
    classes: tuple[str, ...]

    def temperature(self, without: Sequence[str] = ()) -> float:
        """As the cameras give it, some left out."""
        cameras = sorted({crop.camera for crop in self.crops} - set(without))
        return temperature([self._scored(camera) for camera in cameras])

    def named(self) -> Named:
        """What the networks say; the temperature of each crop's is that of the cameras of the other folds."""
        heats = {camera: self.temperature(fold) for fold in FOLDS for camera in fold}
        rows = softmax(self.logits / np.array([[heats[crop.camera]] for crop in self.crops], np.float32))
        return said(self.crops, rows, self.classes)

    def _scored(self, camera: str) -> Scored:
        places = [i for i, crop in enumerate(self.crops) if crop.camera == camera]
        allowed = [[self.classes.index(word or "other") for word in true(self.crops[i]).split("|")] for i in places]
        targets = [max(each, key=self.logits[i].__getitem__) for each, i in zip(allowed, places, strict=True)]
        return Scored(self.logits[places], np.array(targets))


def true(crop: Crop) -> str:
    """The type of a crop, or several; "" where a recogniser has no name for it."""
    found = TYPES[crop.label]
    return found if set(found.split("|")) <= set(VEHICLE_TYPES) else ""


def said(crops: Sequence[Crop], rows: NDArray[np.float32], classes: Sequence[str]) -> Named:
    """The likeliest class of each row; "other" names nothing."""
    words = ["" if classes[i] == "other" else classes[i] for i in rows.argmax(axis=1)]
    return Named(crops, words, rows.max(axis=1).astype(np.float64))


def left_out(recipe: Recipe, sources: Sources) -> LeftOut:
    """Train without each fold, and show it the fold's crops; what a fold gave is kept for the next time."""
    looks = cache(partial(looks_of, recipe, sources, DATA))
    found = [_fold(recipe, sources, looks, fold) for fold in FOLDS]
    crops = [crop for own, _ in found for crop in own]
    return LeftOut(crops, np.concatenate([logits for _, logits in found]), recipe.classes)


def _fold(
    recipe: Recipe, sources: Sources, looks: Callable[[], Looks], fold: tuple[str, ...]
) -> tuple[list[Crop], NDArray[np.float32]]:
    own = [crop for crop in sources.crops if crop.camera in fold and crop.label in TYPES]
    kind = (
        recipe.side,
        recipe.backbone.name,
        recipe.classes,
        recipe.frozen,
        recipe.looks,
        recipe.schedule,
        recipe.seed,
    )
    learnt = f"{kind} {fold} {SHARES} {TYPES} {sources.amounts} {sources.seed} {CORRECTIONS.read_text()}"
    kept = KEPT / f"{fold[0]}-{hashlib.sha256(learnt.encode()).hexdigest()[:16]}.npy"
    if not kept.exists():
        network = train(recipe, sources, looks(), DATA, fold)
        steps_of = range(0, len(own), STEP)
        with torch.inference_mode():
            batches = [to_tensor(recipe.input, [crop.image for crop in own[i : i + STEP]]) for i in steps_of]
            logits = np.concatenate([network(each).numpy() for each in batches])
        KEPT.mkdir(parents=True, exist_ok=True)
        np.save(kept, logits)
    return own, np.load(kept)


def before(crops: Sequence[Crop]) -> Named | None:
    """What the network says that shipped before; None where the repository's history is not there."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "vehicle-type"
        folder.mkdir()
        for file in ("model.yaml", "model.onnx"):
            found = subprocess.run(
                ["git", "show", f"{BEFORE}:serving/models/vehicle-type/{file}"],
                capture_output=True,
                check=False,
                cwd=Path(__file__).parents[2],
            )
            if found.returncode:
                return None
            (folder / file).write_bytes(found.stdout)
        card = read_card(folder)
        return said(crops, _rows(Entry(card, folder), [crop.image for crop in crops]), card.classes)


def shipped(name: str, crops: Sequence[Crop]) -> Named:
    """What a network says that ships now; it has learnt from these cameras."""
    entry = Catalogue([SHIPPED]).find(name)
    return said(crops, _rows(entry, [crop.image for crop in crops]), entry.card.classes)


def detector(crops: Sequence[Crop]) -> Named:
    """The detector's own word for the vehicle that it is surest of in each crop."""
    model = public_model("yolox-nano")
    names = model.class_names()
    wanted = {names.index(word): word for word in SAID_BY_DETECTOR}
    with TemporaryDirectory() as scratch:
        fetch(model.name, Path(scratch))
        entry = Catalogue([Path(scratch)]).find(model.name)
        network = open_model(entry, threads=1)
        words, confidence = [], []
        for image in (on_canvas(crop.image) for crop in crops):
            out = network.run(batch(entry.card.input, [image])[0])[0][0]
            scores = out[:, 4:5] * out[:, 5:]
            best = max(wanted, key=lambda kind: float(scores[:, kind].max()))
            sure = float(scores[:, best].max())
            words.append(wanted[best] if sure >= DETECTED else "")
            confidence.append(sure)
    return Named(crops, words, np.array(confidence))


def on_canvas(image: Image) -> Image:
    """The crop, enlarged, in the middle of a grey picture."""
    scale = SHOWN / max(image.shape[:2])
    size = max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale))
    canvas = np.full((CANVAS, CANVAS, 3), GREY, np.uint8)
    left, top = (CANVAS - size[0]) // 2, (CANVAS - size[1]) // 2
    canvas[top : top + size[1], left : left + size[0]] = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    return canvas


def parts(named: Named) -> Iterator[tuple[str, Named]]:
    """What was said of all crops, then by camera, light, size and type; parts without crops that have a type lack."""
    tests: dict[str, Callable[[Crop], bool]] = {"all cameras": lambda _: True}
    tests |= {f"camera {each}": partial(_is_of, each) for each in sorted({crop.camera for crop in named.crops})}
    tests["light day"] = lambda crop: crop.camera not in NIGHT
    tests["light night"] = lambda crop: crop.camera in NIGHT
    tests[f"size below {SMALL} px"] = lambda crop: max(crop.image.shape) < SMALL
    tests[f"size from {SMALL} px"] = lambda crop: max(crop.image.shape) >= SMALL
    tests |= {f"type {kind}": partial(_is_a, kind) for kind in VEHICLE_TYPES}
    for view, test in tests.items():
        part = named.of(test)
        if any(part.truth):
            yield view, part


def sample(crops: Sequence[Crop]) -> list[Crop]:
    """Every few: ``ASKED`` or a few more."""
    return list(crops[:: max(1, len(crops) // ASKED)])


def _is_of(camera: str, crop: Crop) -> bool:
    return crop.camera == camera


def _is_a(kind: str, crop: Crop) -> bool:
    return true(crop) == kind


def _rows(entry: Entry, images: Sequence[Image]) -> NDArray[np.float32]:
    network, card = open_model(entry, threads=1), entry.card
    logits = [
        run_in_steps(network.run, batch(card.input, images[i : i + STEP])[0], STEP)[0]
        for i in range(0, len(images), STEP)
    ]
    return softmax(np.concatenate(logits) / card.temperature)
