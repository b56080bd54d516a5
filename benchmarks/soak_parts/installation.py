"""A whole installation as users run it: a real broker, cameras, a file, and the commands as processes of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.soak_parts.account import Account
from benchmarks.soak_parts.viewer import viewer
from tests.real.broker import KafkaBroker
from tests.real.ports import free_port
from tests.real.process import Sluice, until
from tests.real.rtsp import RtspServer, looped

CLIP = Path(__file__).parents[2] / "examples" / "street.mp4"
CAMERAS = 8
FPS = 2
"""Frames a second of each camera."""
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


class Installation:
    """What runs: processes by name, which may be killed and begin again."""

    def __init__(self, directory: Path, commands: Mapping[str, Sequence[object]], bootstrap: str) -> None:
        self._directory, self._commands, self._bootstrap = directory, commands, bootstrap
        self.processes: dict[str, Sluice] = {}
        self.account = Account(bootstrap)
        for name in commands:
            self._start(name)

    def kill(self, name: str) -> None:
        """End a process without a goodbye, and start another in its place."""
        self.processes[name].kill()
        self._start(name)

    def _start(self, name: str) -> None:
        into = self._directory / name.replace(" ", "-")
        self.processes[name] = Sluice(into, *self._commands[name], broker=self._bootstrap)

    def close(self) -> None:
        """Leave no process behind."""
        for process in self.processes.values():
            if process.process.poll() is None:
                process.kill()

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
        commands: dict[str, Sequence[object]] = {
            "watch": ("watch",),
            "serve": ("serve", "--listen", f"127.0.0.1:{(port := free_port())}"),
            "worker 1": ("worker", query),
            "worker 2": ("worker", query),
            "capture": ("capture", query),
        }
        installed = Installation(directory, commands, broker.bootstrap)
        running.callback(installed.close)
        account = running.enter_context(installed.account)
        until(lambda: account.results() > 0, "the first result", *installed.processes.values(), timeout_s=START_S)
        running.enter_context(viewer(port))
        yield installed


def _query(directory: Path, cameras: list[str]) -> Path:
    uris = {f"camera-{number}": uri for number, uri in enumerate(cameras, 1)}
    streams = "\n".join(f"  - {{id: {name}, uri: '{uri}', sample: {{fps: {FPS}}}}}" for name, uri in uris.items())
    path = directory / "query.yaml"
    path.write_text(QUERY.format(streams=streams))
    return path
