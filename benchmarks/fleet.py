"""A fleet that is scheduled on a real broker: three queries, twelve streams, three backends, two schedulers.

No backend has the memory for all three networks, so that two have to serve at any time. A backend is killed, one is
added, the load triples, the leading scheduler is killed. What is planned, what each backend serves, and what share of
the frames is in time (1.5 s) is told every five seconds.
"""

from __future__ import annotations

import tempfile
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.fleet_parts.findings import draw, headline, rows
from benchmarks.fleet_parts.story import Pace, told
from tests.real.broker import KafkaBroker

LONG, QUICK = Pace(), Pace(every_s=4.0, phase_s=10.0)


def measure(quick: bool) -> harness.Outcome:
    """Run the story once."""
    pace = QUICK if quick else LONG
    with tempfile.TemporaryDirectory(prefix="sluice-fleet-") as folder, KafkaBroker() as broker:
        found = told(Path(folder), broker.bootstrap, f"{uuid.uuid4().hex[:8]}.", pace)
    lines = rows(found)

    def picture(figure: Any) -> None:
        figure.set_size_inches(9, 8)
        draw(figure, found, lines)

    return harness.Outcome(lines, headline(found, pace.every_s), picture)


if __name__ == "__main__":
    harness.run("fleet", partial(measure), __doc__ or "")
