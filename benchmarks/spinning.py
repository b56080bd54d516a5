"""What it costs that the threads of ONNX Runtime spin while they wait for work, and that there is more than one.

``yolox-nano``, ``vehicle-type`` and the small ``street-kind`` run on one picture at a time, on all cores, with threads
that spin as the runtime has it by default (``default``), that spin for 200 or 20 microseconds within a run, and that
sleep at once (``asleep``), and in ``one thread``; the product takes one of the last two. ``beside`` one busy thread of
another process and alone. ``cpu_ms`` is processor time of the process for one run, ``wall_ms`` how long it takes, both
medians.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnxruntime as ort

from benchmarks import harness
from benchmarks.tracking_parts.recordings import WEIGHTS
from pipelines.environment import catalogue
from serving.loading.thread_choice import Taken, all_pay

SHIPPED = ("vehicle-type", "street-kind")
REST_S = 0.01
"""Before each turn: threads of the one before may spin on for a while."""
RUNS, ROUNDS, QUICK_ROUNDS = 10, 30, 3
FORCED = {"session.force_spinning_stop": "1"}
SLEEP = {"session.intra_op.allow_spinning": "0"}
ONE_THREAD = "one thread"
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "200 µs": {**FORCED, "session.intra_op.spin_duration_us": "200"},
    "20 µs": {**FORCED, "session.intra_op.spin_duration_us": "20"},
    "asleep": SLEEP,
    ONE_THREAD: SLEEP,
}


def measure(quick: bool) -> harness.Outcome:
    """One row for each network, setting and neighbour."""
    networks = {"yolox-nano": WEIGHTS, **{name: Path(catalogue([]).find(name).path) for name in SHIPPED}}
    rounds = QUICK_ROUNDS if quick else ROUNDS
    rows = [
        row for beside in (False, True) for name, path in networks.items() for row in _rows(name, path, beside, rounds)
    ]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """By network: how many threads the product gives it here, and its times against the runtime's default, alone."""
    alone = {(row["network"], row["threads"]): row for row in rows if row["beside"] == "nothing"}
    found = {}
    for name in dict.fromkeys(row["network"] for row in rows):
        default, asleep, one = (alone[name, setting] for setting in ("default", "asleep", ONE_THREAD))
        pays = all_pay(*(Taken(each["wall_ms"] / 1e3, each["cpu_ms"] / 1e3) for each in (one, asleep)))
        ours = asleep if pays else one
        ratios = {key: round(ours[f"{key}_ms"] / default[f"{key}_ms"], 3) for key in ("cpu", "wall")}
        found[name] = {"threads": ours["threads"], **ratios}
    return found


def _rows(name: str, path: Path, beside: bool, rounds: int) -> Iterator[harness.Row]:
    variants = {
        setting: _runs(path, entries, 1 if setting == ONE_THREAD else len(os.sched_getaffinity(0)))
        for setting, entries in SETTINGS.items()
    }
    for run in variants.values():
        run()
    with _neighbour(beside):
        found = harness.interleaved(variants, rounds)
    for setting, times in found.items():
        row = {
            "network": name,
            "beside": "busy thread" if beside else "nothing",
            "threads": setting,
            "cpu_ms": round(median(cpu_ms for cpu_ms, _ in times), 2),
            "wall_ms": round(median(wall_ms for _, wall_ms in times), 2),
        }
        print(row, file=sys.stderr)
        yield row


def _runs(path: Path, entries: Mapping[str, str], threads: int) -> Callable[[], tuple[float, float]]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_cpu_mem_arena = False
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    batch = np.zeros([dim if isinstance(dim, int) else 1 for dim in given.shape], np.float32)

    def run() -> tuple[float, float]:
        time.sleep(REST_S)
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        for _ in range(RUNS):
            session.run(None, {given.name: batch})
        return 1e3 * (time.process_time() - cpu_s) / RUNS, 1e3 * (time.perf_counter() - wall_s) / RUNS

    return run


@contextmanager
def _neighbour(beside: bool) -> Iterator[None]:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if beside else None
    try:
        yield
    finally:
        if busy is not None:
            busy.kill()
            busy.wait()


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    groups = list(dict.fromkeys((row["network"], row["beside"]) for row in rows))
    for axes, key in zip(figure.subplots(1, 2, sharey=True), ("cpu_ms", "wall_ms"), strict=True):
        for place, setting in enumerate(SETTINGS):
            of = [row[key] for row in rows if row["threads"] == setting]
            axes.barh([at + 0.16 * place for at in range(len(groups))], of, 0.15, label=setting)
        axes.set_title(key, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_yticks(
        [at + 0.3 for at in range(len(groups))], [f"{net}\nbeside {by}" for net, by in groups], fontsize=7
    )
    figure.axes[0].invert_yaxis()
    figure.axes[1].legend(frameon=False, fontsize=7)


if __name__ == "__main__":
    harness.run("spinning", measure, __doc__ or "")
