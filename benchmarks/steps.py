"""Steps that frames take beside decoding and networks, each as it is done and as one would write it first.

``cpu_us`` is processor time of one call, the median of those of all rounds, in which the ways take turns:

``thumbnail``   a small grey copy: grey first and halved while it is far too large; or shrunk in colour, then grey
``input``       a frame as the input of ``yolox-nano``, halved while it is far too large; or shrunk at once, and scaled
                and shifted in every plane, though by 1 and 0
``outputs``     the detector's outputs for one frame handed on; or padded and joined like those of several
``decode``      these outputs as boxes with the grid kept; or with the grid made anew
``median``      of as many steps as flow has in a box: by sorting; or by NumPy
``conflict``    the assignment of least cost of as many tracks as boxes, our lines; or ``scipy``'s
``shadow``      a batch of looks by a recogniser of 7 ms in the shadow of exits at one cut, or at two; or by the network
                as it is: what proving exits costs

``import`` is the processor time that a process takes to start with NumPy, and with ``scipy``'s packages too, which is
what our lines save: once it is there, its solver is the faster one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.exit_parts.shadow import looks
from operators.detect import decoding
from operators.detect.needed.flow import middle
from operators.frames.changes import WIDTH, thumbnail
from operators.track.association import least_cost
from serving import preprocess
from serving.catalogue.cards import ImageInput
from serving.common.tensors import Image
from serving.engines.engine import joined

SIZES = ((640, 360), (768, 432), (1280, 720), (1920, 1080))
INPUT = ImageInput(width=416, height=416, colour="bgr", resize="letterbox")
STRIDES = (8, 16, 32)
CONFLICTS = (2, 4, 8)
IMPORTS = ("numpy", "numpy, scipy.special", "numpy, scipy.optimize")
OURS, PLAIN = "ours", "plain"
SHADOW = "shadow"
ROUNDS, CALLS, STARTS = 30, 5, 7

Work = Callable[[], object]


def measure(quick: bool) -> harness.Outcome:
    """All steps by turns; ``quick``: few rounds."""
    cv2.setNumThreads(1)
    steps = {(step, size, way): partial(_us, work) for step, size, ways in _steps() for way, work in ways.items()}
    found: Mapping[Any, list[float]] = harness.interleaved(steps, 3 if quick else ROUNDS)
    starts = {("import", packages, OURS): partial(_import_us, packages) for packages in IMPORTS}
    found = {**found, **harness.interleaved(starts, 1 if quick else STARTS)}
    rows = [_row(key, runs, found.get((*key[:2], PLAIN), ())) for key, runs in found.items()]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, float]:
    """How many times longer the plain way takes, by step and size; how much longer a look in the shadow takes."""
    return {
        f"{row['step']}, {row['size']}": round(row["over_plain"] - 1, 4)
        if row["step"] == SHADOW
        else round(1 / row["over_plain"], 2)
        for row in rows
        if row["over_plain"] != ""
    }


def _row(key: tuple[str, str, str], runs: Sequence[float], plain: Sequence[float]) -> harness.Row:
    """``over_plain``: the median over rounds of our time over the plain way's."""
    step, size, way = key
    over: float | str = ""
    if plain and way == OURS:
        over = round(median(ours / other for ours, other in zip(runs, plain, strict=True)), 4)
    return {"step": step, "size": size, "way": way, "cpu_us": round(median(runs), 1), "over_plain": over}


def _steps() -> Iterator[tuple[str, str, dict[str, Work]]]:
    rng = np.random.default_rng(0)
    for width, height in SIZES:
        image = cv2.resize(rng.integers(0, 255, (90, 160, 3), np.uint8), (width, height))
        size = f"{width} × {height}"
        yield "thumbnail", size, {OURS: partial(thumbnail, image), PLAIN: partial(_colour_first, image)}
        yield "input", size, {OURS: partial(preprocess.batch, INPUT, [image]), PLAIN: partial(_input, image)}
    outputs = rng.random((1, 3549, 85), np.float32)
    yield "outputs", "3549 × 85", {OURS: partial(joined, [outputs]), PLAIN: partial(_padded, outputs)}
    grid = partial(decoding._grid, INPUT.width, INPUT.height, STRIDES)
    yield "decode", "its grid", {OURS: grid, PLAIN: partial(_anew, grid)}
    part = rng.random((12, 12), np.float32).ravel()
    yield "median", "144 steps", {OURS: partial(middle, part), PLAIN: partial(np.median, part)}
    for count in CONFLICTS:
        costs = -rng.random((count, count))
        yield "conflict", f"{count} × {count}", {OURS: partial(_our_lines, costs), PLAIN: _scipys(costs)}

    for look in looks():
        size = f"{look.cuts} cut{'s' if look.cuts > 1 else ''}, batch {look.batch}"
        yield SHADOW, size, {OURS: look.shadow, PLAIN: look.whole}


def _colour_first(image: Image) -> Image:
    size = (WIDTH, round(image.shape[0] * WIDTH / image.shape[1]))
    small: Image = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return small


def _input(image: Image) -> NDArray[np.float32]:
    placement = preprocess.place(INPUT, image.shape[1], image.shape[0])
    width, height = round(image.shape[1] * placement.scale_x), round(image.shape[0] * placement.scale_y)
    shrinks = width * 2 < image.shape[1] and height * 2 < image.shape[0]
    canvas = np.full((INPUT.height, INPUT.width, 3), INPUT.pad, np.uint8)
    canvas[:height, :width] = cv2.resize(
        image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    )
    out = np.empty((3, INPUT.height, INPUT.width), np.float32)
    for target, plane in zip(out, cv2.split(canvas), strict=True):
        np.multiply(plane, 1.0, out=target, dtype=np.float32)
        target -= 0.0
    return out


def _padded(piece: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([np.pad(piece, [(0, 0)] * piece.ndim)])


def _anew(grid: Work) -> object:
    decoding._grid.cache_clear()
    return grid()


def _our_lines(costs: NDArray[np.float64]) -> object:
    return least_cost(costs.tolist())


def _scipys(costs: NDArray[np.float64]) -> Work:
    from scipy.optimize import linear_sum_assignment

    return partial(linear_sum_assignment, costs)


def _us(work: Work) -> float:
    """Microseconds of one call; what other work has left in the caches is part of it, as it is between frames."""
    started_s = time.thread_time()
    for _ in range(CALLS):
        work()
    return (time.thread_time() - started_s) / CALLS * 1e6


def _import_us(packages: str) -> float:
    probe = f"import time; import {packages}; print(time.process_time())"
    return float(subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True).stdout) * 1e6


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots()
    shown = [row for row in rows if row["step"] not in ("import", "faust")]
    names = list(dict.fromkeys(f"{row['step']}, {row['size']}" for row in shown))
    for way, colour, shift in ((OURS, "tab:blue", -0.2), (PLAIN, "tab:gray", 0.2)):
        of = [row for row in shown if row["way"] == way]
        at = [names.index(f"{row['step']}, {row['size']}") + shift for row in of]
        axes.barh(at, [row["cpu_us"] for row in of], 0.4, color=colour, label=way)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_title("processor time of a call, µs", fontsize=9)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    harness.run("steps", measure, __doc__ or "")
