"""A real Prometheus reads a real pipeline; alerts and dashboard get rows from it."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.ports import free_port
from tests.real.process import Sluice, until
from tests.real.prometheus import Prometheus, require_prometheus

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ALERTS = DEPLOY / "alerts.yml"
QUERY = """\
version: 1
name: metrics
slo_ms: 250
streams:
  - {id: gate, uri: "synthetic:street?seed=3&duration_s=600&fps=5&width=320&height=180"}
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
  - {name: kind, task: recognise, input: track, model: [vehicle-type-compact, vehicle-type], answer: look}
"""
NOT_HERE = (
    *("sluice_oracle_spared_seconds", "sluice_processor_saved_seconds", "sluice_trainings_total"),
    "sluice_consumer_lag_messages",
)
"""Nothing is specialised in this query, and only workers consume partitions."""


@pytest.fixture
def query(tmp_path: Path) -> Path:
    (tmp_path / "query.yaml").write_text(QUERY)
    return tmp_path / "query.yaml"


def read(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def answers(address: str, path: str, what: str) -> bool:
    try:
        return what in read(address, path)
    except OSError:
        return False


def test_rules_load_and_each_alert_fires_when_it_should() -> None:
    require_prometheus()
    for arguments in (["check", "rules", ALERTS], ["test", "rules", ROOT / "tests/pipelines/observe/alerts_test.yml"]):
        done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def expressions() -> list[str]:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [each.replace("$__rate_interval", "30s").replace("$stream", ".*") for each in asked]


def test_the_dashboard_gets_rows_while_a_pipeline_runs(tmp_path: Path, query: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with (
        Sluice(tmp_path / "run", "run", query, "--serve", "--listen", address) as run,
        Prometheus(tmp_path, address, ALERTS) as prometheus,
    ):
        until(lambda: prometheus.ask("sluice_agreement_ratio"), "audits", run)
        for expression in expressions():
            if not any(name in expression for name in NOT_HERE):
                until(lambda asked=expression: prometheus.ask(asked), expression, run)  # type: ignore[misc]
        assert [row["metric"]["state"] for row in prometheus.ask("sluice_stream_state")] == ["running"]
        assert not prometheus.ask('ALERTS{alertname=~"SluiceProcessDown|SluiceUnhealthy|SluiceStreamLost"}')
        (up,) = prometheus.ask('up{job="sluice"}')
        assert up["value"][1] == "1"
        assert run.terminate() == 0


def test_without_being_asked_a_run_serves_nothing(tmp_path: Path, query: Path) -> None:
    with Sluice(tmp_path / "run", "run", query, "--out", "results.jsonl") as run:
        until(lambda: (tmp_path / "run" / "results.jsonl").exists(), "results", run)
        assert "serving" not in run.errors
        listening = Path(f"/proc/{run.process.pid}/net/tcp").read_text()
        inodes = {line.split()[9] for line in listening.splitlines()[1:] if line.split()[3] == "0A"}
        held = {link.readlink().name for link in Path(f"/proc/{run.process.pid}/fd").iterdir() if link.is_symlink()}
        assert not {f"socket:[{inode}]" for inode in inodes} & held


@pytest.mark.kafka
def test_capture_and_worker_say_how_they_are(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str, tmp_path: Path, query: Path
) -> None:
    capture_at, worker_at = (f"127.0.0.1:{free_port()}" for _ in range(2))
    shared = (query, "--prefix", topic_prefix, "--serve", "--listen")
    bootstrap = kafka_broker.bootstrap
    adapt_at = f"127.0.0.1:{free_port()}"
    (learning := tmp_path / "learning.yaml").write_text(QUERY.replace("answer: look", "specialize: true"))
    with (
        Sluice(tmp_path / "a", "adapt", learning, *shared[1:], adapt_at, broker=bootstrap) as third,
        Sluice(tmp_path / "c", "capture", *shared, capture_at, "--realtime", broker=bootstrap) as one,
        Sluice(tmp_path / "w", "worker", *shared, worker_at, broker=bootstrap) as other,
    ):
        until(lambda: answers(capture_at, "/metrics", 'sluice_frames_captured_total{stream="gate"}'), "capture", one)
        until(
            lambda: answers(worker_at, "/metrics", 'outcome="analysed",query="metrics",stream="gate"'),
            "results",
            one,
            other,
        )
        for address in (capture_at, worker_at):
            until(lambda at=address: answers(at, "/readyz", "ok"), "readiness", one, other)  # type: ignore[misc]
            assert read(address, "/healthz") == "ok\n"
        assert 'sluice_stream_state{reason="",state="running",stream="gate"} 1.0' in read(capture_at, "/metrics")
        until(lambda: answers(worker_at, "/metrics", 'sluice_consumer_lag_messages{partition="0"}'), "its lag", other)
        until(lambda: answers(adapt_at, "/metrics", "sluice_healthy 1.0"), "the adaptation worker", third)
        assert (one.terminate(), other.terminate(), third.terminate()) == (0, 0, 0)


def test_an_address_that_others_reach_needs_a_secret(tmp_path: Path, query: Path) -> None:
    with Sluice(tmp_path, "run", query, "--listen", "0.0.0.0:8470") as run:
        assert run.wait() == 2
        assert run.errors.startswith("sluice: error: --listen 0.0.0.0:8470: other machines could read everything: give")
        assert len(run.errors.splitlines()) == 1
