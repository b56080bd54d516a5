"""Two workers ask two backends, of which one is killed and the other stands still: frames have one outcome each."""

from __future__ import annotations

import json
import signal
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from operators.wire.schema import Result
from tests.integration.backend_process import BackendProcess, backend_process
from tests.real.kafka import KafkaBroker
from tests.real.process import WAIT_S, Sluice, until
from tests.real.topic import Topics

pytestmark = pytest.mark.kafka

FRAMES, STREAMS = 800, 4
LOCAL, REMOTE = "local", "remote"
MODEL = "vehicle-type-compact"
QUERY = """\
version: 1
name: NAME
slo_ms: 60000
backends: {pair: {url: URLS}}
streams: [STREAMS]
nodes:
  - {name: type, task: recognise, input: frame, model: MODEL, answer: look, specialize: false, caches: false}
publish: {topics: {frames: {partitions: 4}}}
"""
STREAM = '{{id: s{0}, uri: "synthetic:street?seed={0}&duration_s={1}&fps=10&width=320&height=180"}}'
Answers = dict[tuple[str, int], tuple[str, list[tuple[str | None, float]]]]
"""By stream and number: how the frame ended, and what it was found to show."""


@dataclass(frozen=True)
class Outcomes:
    """The results of all frames."""

    local: Answers
    """Those of a worker whose networks are its own."""
    remote: Answers
    """Those of two workers that ask two backends."""
    twice: int
    """Results for frames that had one already."""
    there: int
    """Answers of the workers that ask, which name the backend."""


def outcomes(results: list[Result]) -> Outcomes:
    found: dict[str, Answers] = {LOCAL: {}, REMOTE: {}}
    seen, there = Counter[tuple[str, str, int]](), 0
    for result in results:
        answers = [answer for each in result.objects for answer in each.attributes]
        seen[result.query, result.stream, result.seq] += 1
        said = [(answer.label, answer.confidence) for answer in answers]
        found[result.query][result.stream, result.seq] = f"{result.outcome} {result.cause}", said
        there += sum(answer.model is not None and answer.model.backend == "pair" for answer in answers)
    return Outcomes(found[LOCAL], found[REMOTE], sum(seen.values()) - len(seen), there)


def broken(folder: Path, broker: str, prefix: str, frames: int) -> Outcomes:
    """Capture so many frames, and analyse them both ways: one backend is killed and comes back, one is stopped."""
    patience_s = max(WAIT_S, frames / 5)
    with ExitStack() as running:
        backends = [running.enter_context(backend_process(folder / name, "--load", MODEL)) for name in ("one", "other")]
        queries = {name: _query(folder, name, backends, frames) for name in (LOCAL, REMOTE)}
        workers = [
            running.enter_context(Sluice(folder / f"worker{number}", "worker", path, "--prefix", prefix, broker=broker))
            for number, path in enumerate((queries[LOCAL], queries[REMOTE], queries[REMOTE]))
        ]
        home = folder / "capture"
        capture = running.enter_context(Sluice(home, "capture", queries[REMOTE], "--prefix", prefix, broker=broker))
        topics = running.enter_context(Topics(broker, prefix))

        def count(query: str) -> int:
            return sum(result.query == query for result in topics.results())

        def answered(share: float, *processes: Sluice) -> None:
            until(
                lambda: count(REMOTE) >= share * frames, f"{share:.0%} of the results", *processes, timeout_s=patience_s
            )

        answered(0.2, *workers)
        backends[0].command.kill()
        answered(0.4, *workers)
        running.enter_context(backend_process(folder / "one", "--load", MODEL, listen=backends[0].grpc))
        until(lambda: all(knows(each, backends[0].grpc) for each in workers[1:]), "the backend that is back", *workers)
        answered(0.55, *workers)
        backends[1].command.process.send_signal(signal.SIGSTOP)
        answered(0.75, *workers)
        backends[1].command.process.send_signal(signal.SIGCONT)
        answered(1.0, *workers)
        until(lambda: count(LOCAL) >= frames, "the results of the process itself", workers[0], timeout_s=patience_s)
        assert capture.wait() == 0, capture.errors
        assert [worker.terminate() for worker in workers] == [0, 0, 0]
        return outcomes(topics.results())


def knows(worker: Sluice, address: str) -> bool:
    """Whether a worker has said last of a backend that it is ready."""
    said = [
        line for line in worker.errors.splitlines() if line.endswith((f"{address} is ready", f"{address} is not ready"))
    ]
    return bool(said) and said[-1].endswith("is ready")


def _query(folder: Path, name: str, backends: list[BackendProcess], frames: int) -> Path:
    urls = json.dumps([f"grpc://{each.grpc}" for each in backends])
    streams = ", ".join(STREAM.format(number, frames / STREAMS / 10) for number in range(STREAMS))
    model = MODEL if name == LOCAL else f"{MODEL} on pair"
    text = QUERY.replace("NAME", name).replace("URLS", urls).replace("STREAMS", streams).replace("MODEL", model)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def test_each_frame_has_one_outcome_and_the_answer_of_the_network_itself(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    found = broken(tmp_path, kafka_broker.bootstrap, topic_prefix, FRAMES)
    assert len(found.local) == FRAMES
    assert found.remote == found.local
    assert {outcome for outcome, _ in found.remote.values()} == {"analysed None"}
    assert all(len(answers) == 1 for _, answers in found.remote.values())
    assert (found.twice, found.there) == (0, FRAMES)
