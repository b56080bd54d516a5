"""What ``vehicle-colour`` says of 200 crops of street cameras, which were read by eye before.


``tools/shipped/colour/judged.csv`` has what was read; nothing was learnt from these crops. A row is one
who answers, in one light, on a part of the crops:

``named``         share of the crops with a colour that are named
``right``         share of these names that are right
``unsure_named``  share of the crops named of which the person could tell no colour

The baseline is a rule that costs nothing: the median of the pixels in the middle, by hue, saturation and value. In the
lights ``sodium`` and ``colourless`` the crops are shown as a sodium lamp or a black-and-white camera would show them:
there nothing should be named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.colours_parts.sheet import Judged, judged
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import SHIPPED, Catalogue, read_weights
from serving.common.tensors import Image, softmax, words
from serving.engines.network import EngineNetwork, run_in_steps
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.quantise import quantised
from serving.preprocess import batch
from tools.shipped.colour.lights import under_sodium, without_colour
from tools.shipped.colour.paints import COLOURS
from tools.shipped.colour.train_colour import NAME, UNSURE

NIGHT = ("cam04", "cam05n")
LEARNT = ("cam01", "cam03", "cam05", "cam10", "mix11", "road_clip")
"""Cameras of which other crops were learnt from."""
STEP, SEED = 32, 5
CALIBRATED = 100
"""Drawn crops that int8 is calibrated on."""

Said = NDArray[np.intp]
"""The colour of each crop; −1: not named."""
Speaker = Callable[[Sequence[Image]], Said]


def measure(quick: bool) -> harness.Outcome:
    """All who answer, in all lights; ``quick``: as the crops are."""
    crops = judged()
    rng = np.random.default_rng(SEED)
    lights = {"as it is": [crop.image for crop in crops]}
    if not quick:
        lights["sodium"] = [under_sodium(crop.image, rng) for crop in crops]
        lights["colourless"] = [without_colour(crop.image, rng) for crop in crops]
    rows = []
    for who, speaker in speakers().items():
        for light, images in lights.items():
            said = speaker(images)
            rows += [_row(who, light, part, chosen, crops, said) for part, chosen in _parts(crops)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """The shares for all crops, by who answers and light."""
    shown = ("named", "right", "unsure_named")
    return {f"{row['who']}, {row['light']}": {key: row[key] for key in shown} for row in rows if row["part"] == "all"}


def speakers() -> Mapping[str, Speaker]:
    """The network as it is and in int8, and the rule."""
    entry = Catalogue([SHIPPED]).find(NAME)
    model = read_weights(entry.path, entry.card)
    from datasets.street import street_crops

    drawn = batch(entry.card.input, list(street_crops(SEED, CALIBRATED, 64)[0]))[0]
    return {
        NAME: partial(_network, entry.card, model),
        f"{NAME} int8": partial(_network, entry.card, quantised(NAME, model, drawn)),
        "rule": by_rule,
    }


def by_rule(images: Sequence[Image]) -> Said:
    """The colour of the median pixel of the middle; always an answer."""
    return np.array([_rule(image) for image in images], np.intp)


def _network(card: ModelCard, model: onnx.ModelProto, images: Sequence[Image]) -> Said:
    network = EngineNetwork(NAME, model, OnnxRuntimeEngine(NAME, threads=1))
    scores = run_in_steps(network.run, batch(card.input, images)[0], STEP)[0]
    network.close()
    return words(softmax(scores / card.temperature), card.min_confidence)


def _rule(image: Image) -> int:
    height, width = image.shape[:2]
    middle = image[height // 4 : height - height // 4, width // 4 : width - width // 4].reshape(-1, 1, 3)
    pixel = np.median(middle, axis=0).astype(np.uint8)[None]
    hue, saturation, value = (int(channel) for channel in cv2.cvtColor(pixel, cv2.COLOR_BGR2HSV)[0, 0])
    return COLOURS.index(_word(hue, saturation, value))


def _word(hue: int, saturation: int, value: int) -> str:
    if value < 60:
        return "black"
    if saturation < 50:
        return "white" if value > 170 else "grey"
    if hue < 8 or hue > 165:
        return "red"
    if hue < 22 and value < 150:
        return "brown"
    return "yellow" if hue < 35 else "green" if hue < 88 else "blue"


def _parts(crops: Sequence[Judged]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    cameras = np.array([crop.camera for crop in crops])
    yield "all", np.ones(len(crops), np.bool_)
    yield "day", ~np.isin(cameras, NIGHT)
    yield "night", np.isin(cameras, NIGHT)
    yield "cameras learnt from", np.isin(cameras, LEARNT)
    yield "other cameras", ~np.isin(cameras, LEARNT)
    for colour in COLOURS:
        yield colour, np.array([crop.colour == colour for crop in crops])


def _row(
    who: str, light: str, part: str, chosen: NDArray[np.bool_], crops: Sequence[Judged], said: Said
) -> dict[str, Any]:
    known = np.array([-1 if crop.colour == UNSURE else COLOURS.index(crop.colour) for crop in crops])
    told, unsure, named = chosen & (known >= 0), chosen & (known < 0), said >= 0
    return {
        "who": who,
        "light": light,
        "part": part,
        "crops": int(told.sum()),
        "named": _share(named[told]),
        "right": _share((said == known)[told & named]),
        "unsure": int(unsure.sum()),
        "unsure_named": _share(named[unsure]),
    }


def _share(hits: NDArray[np.bool_]) -> float | str:
    return round(float(hits.mean()), 3) if len(hits) else ""


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    """What is named and what of it is right, by part."""
    axes = figure.subplots()
    shown = [row for row in rows if row["light"] == "as it is" and row["who"] != f"{NAME} int8" and row["crops"]]
    parts = list(dict.fromkeys(row["part"] for row in shown))
    for offset, (who, key) in enumerate(((NAME, "named"), (NAME, "right"), ("rule", "right"))):
        values = [next(row[key] or 0 for row in shown if row["who"] == who and row["part"] == part) for part in parts]
        axes.bar(np.arange(len(parts)) + 0.27 * (offset - 1), values, 0.25, label=f"{who}: {key}")
    sizes = {row["part"]: row["crops"] for row in shown}
    axes.set_xticks(range(len(parts)), [f"{part}\n{sizes[part]}" for part in parts], fontsize=7)
    axes.set_ylabel("share")
    axes.legend()


if __name__ == "__main__":
    harness.run("colours", measure, __doc__ or "")
