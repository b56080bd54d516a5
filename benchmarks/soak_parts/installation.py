"""A whole installation as users run it: a real broker, cameras, a file, and the commands as processes of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak_parts.account import Account
from tests.real.broker import KafkaBroker
from tests.real.process import Sluice, until
from tests.real.rtsp import RtspServer, looped

CLIP = Path(__file__).parents[2] / "examples" / "street.mp4"
CAMERAS = 2
START_S = 180.0
QUERY = """\
version: 1
name: soak
slo_ms: 1000
streams:
{streams}
nodes:
  - {{name: detect, task: detect, model: motion}}
  - {{name: track, task: track, input: detect}}
  - {{name: kind, task: recognise, input: track, model: street-kind}}
  - name: type
    task: recognise
    input: "kind[kind == vehicle]"
    model: [vehicle-type, vehicle-type-compact]
    attribute: vehicle_type
"""


@dataclass(frozen=True)
class Installation:
    """What runs."""

    processes: Mapping[str, Sluice]
    account: Account

    def finish(self, patience_s: float = 120.0) -> int:
        """End the sources, wait for the last results, end the rest; returns how many frames have none."""
        self.processes["capture"].terminate()
        self.account.settle(patience_s)
        for name, process in self.processes.items():
            if name != "capture":
                process.terminate()
        return self.account.without_outcome()


@contextmanager
def installation(directory: Path, seconds: float) -> Iterator[Installation]:
    """Everything, once results come; the cameras play for ``seconds`` and a while longer."""
    with ExitStack() as running:
        broker = running.enter_context(KafkaBroker())
        clip = running.enter_context(looped(CLIP, seconds + 2 * START_S))
        cameras = [running.enter_context(RtspServer(clip, loop=False)).uri for _ in range(CAMERAS)]
        query = _query(directory, cameras)
        with Sluice(directory / "topics", "topics", "create", query, broker=broker.bootstrap) as topics:
            if topics.wait() != 0:
                raise RuntimeError(topics.errors)
        commands = {
            "watch": ("watch",),
            "worker 1": ("worker", query),
            "worker 2": ("worker", query),
            "capture": ("capture", query, "--loop", "--realtime"),
        }
        processes = {
            name: running.enter_context(Sluice(directory / name.replace(" ", "-"), *words, broker=broker.bootstrap))
            for name, words in commands.items()
        }
        account = running.enter_context(Account(broker.bootstrap))
        until(lambda: account.results() > 0, "the first result", *processes.values(), timeout_s=START_S)
        yield Installation(processes, account)


def _query(directory: Path, cameras: list[str]) -> Path:
    clip = shutil.copy(CLIP, directory / "clip.mp4")
    uris = {**{f"camera-{number}": uri for number, uri in enumerate(cameras, 1)}, "file": str(clip)}
    streams = "\n".join(f"  - {{id: {name}, uri: '{uri}', sample: {{fps: 5}}}}" for name, uri in uris.items())
    path = directory / "query.yaml"
    path.write_text(QUERY.format(streams=streams))
    return path
