"""Ten thousand frames through two workers that ask two backends, on a real broker: each has one outcome, and the answer
that the network itself gives, while one backend is killed and comes back and the other stands still for a while.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import harness
from tests.integration.two_backends import broken
from tests.real.broker import KafkaBroker

FRAMES, QUICK_FRAMES = 10_000, 400


def measure(quick: bool) -> harness.Outcome:
    """``quick``: a few hundred frames."""
    frames = QUICK_FRAMES if quick else FRAMES
    with tempfile.TemporaryDirectory(prefix="sluice-remote-") as scratch, KafkaBroker() as broker:
        began_s = time.monotonic()
        found = broken(Path(scratch), broker.bootstrap, "remote.", frames)
        took_s = time.monotonic() - began_s
    ended = Counter(outcome for outcome, _ in found.remote.values())
    row = {
        "frames": frames,
        "results": len(found.remote),
        "analysed": ended["analysed None"],
        "twice": found.twice,
        "answers_of_a_backend": found.there,
        "equal_to_local": sum(found.remote[at] == answer for at, answer in found.local.items() if at in found.remote),
        "seconds": round(took_s, 1),
    }

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        keys = [key for key in row if key != "seconds"]
        axes.barh(keys, [row[key] for key in keys])
        axes.set_xlabel("frames")

    return harness.Outcome([row], row, draw)


if __name__ == "__main__":
    harness.run("remote_outcomes", measure, __doc__ or "")
