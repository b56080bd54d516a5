"""No command shows a password, whatever it is asked to log: real broker, real camera, ``--debug``."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.integration.kafka_side import read_all, write_query
from tests.operators.capture.clips import make_clip
from tests.real.command import running_sluice, sluice
from tests.real.rtsp import MakeServer, RtspServer
from tests.real.secured import PASSWORD, SecuredBroker

CAMERA_PASSWORD = "c@mera w/0rd:#1"


def assert_no_secret(*texts: str) -> None:
    """None of the passwords in any spelling, and no part of them either."""
    shown = "\n".join(texts)
    for password in (PASSWORD, CAMERA_PASSWORD):
        parts = {password, password[:6], password[-6:], quote(password), quote(password, safe=""), repr(password)[1:-1]}
        encoded = {f"{user}{password}".encode() for user in ("", "cam:", "\0alice\0")}
        parts |= {base64.b64encode(data).decode().rstrip("=") for data in encoded} | {data.hex() for data in encoded}
        assert not [part for part in parts if part in shown]


def placed(camera: RtspServer) -> str:
    """The camera as a query has it that holds no password."""
    uri = camera.uri.replace(quote(CAMERA_PASSWORD, safe=""), "${CAMERA_PASSWORD}")
    return f"streams:\n  - {{id: gate, uri: '{uri}'}}\n"


@pytest.fixture
def camera(rtsp_server: MakeServer, tmp_path: Path) -> RtspServer:
    clip = make_clip(tmp_path / "clip.mp4", frames=48, fps=12)
    return rtsp_server(clip, user="cam", password=CAMERA_PASSWORD)


@pytest.mark.kafka
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_topics(secured_broker: SecuredBroker, topic_prefix: str, mechanism: str) -> None:
    env = secured_broker.environment(SASL_MECHANISM=mechanism)
    for words in (("create",), ("describe", "--json")):
        done = sluice(
            "--debug", "topics", *words, "--broker", secured_broker.sasl_ssl, "--prefix", topic_prefix, env=env
        )
        assert done.returncode == 0, done.stderr
        assert "sasl_plain_password" in done.stderr, "the library does not log its configuration any more"
        assert_no_secret(done.stdout, done.stderr)


@pytest.mark.kafka
@pytest.mark.rtsp
def test_capture_worker_and_watch(
    secured_broker: SecuredBroker, camera: RtspServer, topic_prefix: str, tmp_path: Path
) -> None:
    env = secured_broker.environment(SASL_MECHANISM="PLAIN")
    query = write_query(tmp_path, placed(camera))
    where = ("--broker", secured_broker.sasl_ssl, "--prefix", topic_prefix)
    named = {**env, "CAMERA_PASSWORD": CAMERA_PASSWORD}  # the worker, on the same query, does without
    capture = sluice("--debug", "capture", query, "--limit", 5, *where, env=named)
    assert capture.returncode == 0, capture.stderr
    assert "running" in capture.stderr
    with running_sluice("--debug", "worker", query, *where, env=env) as worker:
        reading = threading.Thread(target=lambda: said.extend(worker.communicate()))
        said: list[str] = []
        reading.start()  # what it logs fills a pipe
        watch = sluice("--debug", "watch", "--json", "--from-beginning", "--limit", 5, *where, env=env)
        worker.terminate()
        reading.join(60)
        assert worker.returncode == 0, said
    assert watch.returncode == 0, watch.stderr
    assert watch.stdout.count('"stream":"gate"') == watch.stdout.count("\n") == 5
    published = [
        str(record)
        for kind in ("streams", "frames")
        for record in read_all(secured_broker.plaintext, f"{topic_prefix}{kind}.v1")
    ]
    assert any("running" in record for record in published)
    assert_no_secret(capture.stdout, capture.stderr, *said, watch.stdout, watch.stderr, *published)


@pytest.mark.rtsp
def test_run_and_its_report(camera: RtspServer, tmp_path: Path) -> None:
    report, out = tmp_path / "report.json", tmp_path / "out.jsonl"
    where = ("--source", camera.uri, "--limit", 5, "--report", report, "--out", out)
    done = sluice("--debug", "run", write_query(tmp_path), *where)
    assert done.returncode == 0, done.stderr
    assert_no_secret(done.stdout, done.stderr, report.read_text(), out.read_text())


@pytest.mark.rtsp
def test_a_secret_that_the_query_names(camera: RtspServer, tmp_path: Path) -> None:
    query, out = write_query(tmp_path, placed(camera)), tmp_path / "out.jsonl"
    for command in ("check", "run"):
        missing = sluice(command, query)
        assert missing.returncode == 2
        (line,) = missing.stderr.splitlines()
        assert "uri: the environment variable CAMERA_PASSWORD is not set" in line
    env = {"CAMERA_PASSWORD": CAMERA_PASSWORD}
    checked = sluice("--debug", "check", query, env=env)
    done = sluice("--debug", "run", query, "--limit", 5, "--out", out, env=env)
    assert (checked.returncode, done.returncode) == (0, 0), done.stderr
    assert_no_secret(checked.stdout, checked.stderr, done.stdout, done.stderr, out.read_text())


@pytest.mark.rtsp
def test_check_and_a_query_that_is_wrong(camera: RtspServer, tmp_path: Path) -> None:
    for streams in ("streams:\n  - {id: gate, uri: 'URI'}\n", "streams:\n  - {id: gate, uri: 'URI\n"):
        query = write_query(tmp_path, streams.replace("URI", camera.uri))
        for words in (("check", query), ("--debug", "check", query), ("--debug", "check", query, "--json")):
            done = sluice(*words)
            assert done.returncode in (0, 1, 2)  # 1: with a traceback
            assert_no_secret(done.stdout, done.stderr)
