"""Backends in a query: their keys, the names of models on them, and the secrets that they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.query.check import examine
from pipelines.query.draft import load_query
from pipelines.query.elsewhere.backends import addresses
from pipelines.query.models.remote_models import named_backends
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput
from tests.pipelines.queries import write, write_model

QUERY = """\
version: 1
name: test
slo_ms: 250
backends: BACKENDS
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
  - {name: type, task: recognise, input: track, model: MODEL}
"""
GPU = "{gpu: {url: 'grpc://gpu-1:8001'}}"


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    write_model(tmp_path / "models", "vehicle-type")
    return Catalogue([tmp_path / "models"])


def path(folder: Path, model: str, backends: str = GPU) -> Path:
    return write(folder / "q.yaml", QUERY.replace("MODEL", model).replace("BACKENDS", backends))


def problems(folder: Path, model: str, backends: str = GPU, catalogue: Catalogue | None = None) -> list[str]:
    return [str(each) for each in examine(path(folder, model, backends), catalogue).problems]


@pytest.mark.parametrize(
    "model",
    [
        "vehicle-type on gpu",
        "vehicle-type@openvino-bf16 on gpu",
        "vehicle-type on auto",
        "[vehicle-type on gpu, vehicle-type]",
        "known-there-alone on gpu",
        "vehicle-type",
    ],
)
def test_models_may_be_on_backends(tmp_path: Path, catalogue: Catalogue, model: str) -> None:
    assert problems(tmp_path, model, catalogue=catalogue) == []


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("vehicle-type on gpo", "nodes[2].model: there is no backend 'gpo'; did you mean 'gpu'?"),
        ("[vehicle-type, a on b]", "nodes[2].model[1]: there is no backend 'b'"),
        ("vehicle-type on", "nodes[2].model: unknown model 'vehicle-type on'"),
        ("vehicle-type on GPU", "nodes[2].model: model 'vehicle-type on GPU': must be MODEL on BACKEND"),
        ("motion on gpu", "'motion' is no model that a backend serves"),
        ("vehicle-type@openvino-int3 on gpu", "unknown precision 'int3'"),
    ],
)
def test_names_that_are_none_are_told(tmp_path: Path, catalogue: Catalogue, model: str, says: str) -> None:
    found = problems(tmp_path, model, catalogue=catalogue)
    assert any(says in each for each in found), found


def test_auto_needs_backends(tmp_path: Path) -> None:
    assert "auto needs backends to choose from" in problems(tmp_path, "vehicle-type on auto", "{}")[0]


@pytest.mark.parametrize(
    ("backends", "says"),
    [
        ("{gpu: {}}", "backends.gpu.url: is missing"),
        ("{gpu: {url: 'http://a:1'}}", "give grpc://HOST:PORT, or unix:///PATH"),
        ("{gpu: {url: 'grpc://a'}}", "give grpc://HOST:PORT"),
        ("{gpu: {url: 'grpc://a:1/x'}}", "give grpc://HOST:PORT"),
        ("{gpu: {url: 'grpc://a:99999'}}", "is no address"),
        ("{gpu: {url: 'grpc://me:s3cr3tword@a:1'}}", "has a user or password: give a token in its place"),
        ("{gpu: {url: []}}", "backends.gpu.url"),
        ("{gpu: {url: ['grpc://a:1', 'a:1']}}", "backends.gpu.url[1]"),
        ("{gpu: {url: 7}}", "backends.gpu.url"),
        ("{gpu: {url: 'grpc://a:1', tokn: x}}", "unknown key; did you mean 'token'?"),
        ("{gpu: {url: 'grpc://a:1', token: s3cr3tword}}", "backends.gpu.token: does not belong in the file"),
        ("{gpu: {url: 'grpc://a:1', timeout_ms: 0}}", "backends.gpu.timeout_ms"),
        ("{gpu: {url: 'grpc://a:1', in_flight: 5000}}", "backends.gpu.in_flight"),
        ("{auto: {url: 'grpc://a:1'}}", "'auto' stands for something else"),
        ("{endpoint: {url: 'grpc://a:1'}}", "'endpoint' stands for something else"),
        ("{'g p u': {url: 'grpc://a:1'}}", "backends"),
        (str({f"b{n}": {"url": "grpc://a:1"} for n in range(17)}), "16"),
    ],
)
def test_wrong_keys_are_told_without_secrets(tmp_path: Path, backends: str, says: str) -> None:
    found = problems(tmp_path, "vehicle-type", backends)
    assert any(says in each for each in found), found
    assert "s3cr3tword" not in "".join(found)


def test_addresses_have_their_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_TOKEN", "t0ken-of-the-gpu")
    (tmp_path / "cloud.token").write_text("t0ken-of-the-cloud\n")
    backends = (
        "{gpu: {url: ['grpc://gpu-1:8001', 'grpc://gpu-2:8001'], tls: {ca: ca.pem}, "
        "token: '${GPU_TOKEN}', timeout_ms: 500, in_flight: 4}, "
        "cloud: {url: 'unix:///run/s', token: '${file:cloud.token}'}}"
    )
    query = load_query(path(tmp_path, "vehicle-type on gpu", backends))
    found = addresses(query.backends)
    gpu, cloud = found["gpu"], found["cloud"]
    assert (gpu.token, gpu.timeout_s, gpu.in_flight) == ("t0ken-of-the-gpu", 0.5, 4)
    assert gpu.urls == ("grpc://gpu-1:8001", "grpc://gpu-2:8001")
    assert gpu.tls is not None
    assert gpu.tls.ca == tmp_path / "ca.pem"
    assert (cloud.urls, cloud.token) == (("unix:///run/s",), "t0ken-of-the-cloud")
    assert named_backends(query.nodes) == {"gpu"}
    monkeypatch.delenv("GPU_TOKEN")
    with pytest.raises(BadInput, match=r"backends\.gpu\.token: the environment variable GPU_TOKEN is not set"):
        addresses(query.backends)


def test_a_token_that_no_header_takes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_TOKEN", "gehäim-und-lang-genug")
    query = load_query(path(tmp_path, "vehicle-type on gpu", "{gpu: {url: 'grpc://g:1', token: '${GPU_TOKEN}'}}"))
    with pytest.raises(BadInput, match=r"backends\.gpu\.token: a token must be of ASCII letters"):
        addresses(query.backends)
