"""``sluice backend`` with clients of others, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import cv2
import grpc
import numpy as np
import pytest

from operators.detect.decoding import decode
from serving.backend import Backend
from serving.common.tensors import Array
from serving.preprocess import batch as prepare
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.service import SERVICE
from serving.remote.protocol.wire_card import wire_card
from serving.remote.server.box_outputs import packed
from serving.scheduling.requests import Urgency
from tests.endless import looping_model
from tests.integration.backend_process import BackendProcess, backend_process
from tests.models import mean_model, yolox_nano
from tests.real.environments import python_with
from tests.real.process import until
from tests.serving.remote.server.running import asking, pictures

CLASSIFIER, DETECTOR = "vehicle-type", "yolox-nano"
ASK = Path(__file__).with_name("triton_client.py")


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Iterator[BackendProcess]:
    folder = tmp_path_factory.mktemp("backend")
    yolox_nano(folder / "models", data_dir)
    with backend_process(folder, "--models", folder / "models", "--load", CLASSIFIER) as found:
        yield found


async def local(folder: Path, data_dir: Path) -> tuple[dict[str, Array], dict[str, dict[str, Array]]]:
    """Pictures as they travel, and the answers to them here."""
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    _, image = video.read()
    video.release()
    engine = Backend(yolox_nano(folder, data_dir))
    await engine.start()
    try:
        sent, answers = {}, {}
        for kind, model in {"classifier": CLASSIFIER, "detector": DETECTOR}.items():
            card = engine.card(model)
            sent[kind], _ = prepare(wire_card(card).input, [image])
            outputs = await engine.infer(model, prepare(card.input, [image])[0], Urgency(0.0))
            is_detector = kind == "detector"
            answers[kind] = packed(card, decode(card, outputs)) if is_detector else {"": outputs[0]}
    finally:
        await engine.stop()
    return sent, answers


async def test_triton_s_client_is_answered_over_grpc_http_and_shared_memory(
    backend: BackendProcess, tmp_path: Path, data_dir: Path
) -> None:
    python = python_with("tritonclient[grpc,http]")
    sent, answers = await local(tmp_path / "models", data_dir)
    np.savez(tmp_path / "pictures.npz", **sent)
    arguments = [backend.grpc, backend.http, CLASSIFIER, DETECTOR, str(tmp_path / "pictures.npz")]
    said = subprocess.run([python, ASK, *arguments], capture_output=True, text=True, timeout=300, check=False)  # noqa: ASYNC221
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    for way in ("grpc", "http"):
        assert found[way]["ready"] == [True] * 3
        ((_, scores),) = found[way]["classifier"].items()
        assert np.asarray(scores, np.float32).tobytes() == answers["classifier"][""].tobytes()
        assert {*found[way]["detector"]} == {*answers["detector"]}
        for name, array in answers["detector"].items():
            assert np.asarray(found[way]["detector"][name], array.dtype).tobytes() == array.tobytes()
        assert {CLASSIFIER, DETECTOR} <= {*found[way]["index"]}
        assert "images must be uint8" in found[way]["refused"]
    assert np.asarray(found["grpc"]["memory"], np.float32).tobytes() == answers["classifier"][""].tobytes()
    assert found["grpc"]["count"] == 2
    assert found["http"]["name"] == "sluice"


def infer(channel: grpc.Channel, request: pb.ModelInferRequest) -> grpc.Future:
    call = channel.unary_unary(
        f"/{SERVICE}/ModelInfer",
        request_serializer=pb.ModelInferRequest.SerializeToString,
        response_deserializer=pb.ModelInferResponse.FromString,
    )
    return call.future(request, timeout=120)


def test_what_is_in_flight_is_answered_when_it_is_asked_to_end(tmp_path: Path) -> None:
    with (
        backend_process(tmp_path, "--load", CLASSIFIER, "--alive", tmp_path / "alive") as backend,
        grpc.insecure_channel(backend.grpc) as channel,
    ):
        infer(channel, asking(CLASSIFIER, pictures(1, 96, 96))).result()
        until(lambda: (tmp_path / "alive").read_text() == "", "a healthy backend", backend.command)
        calls = [infer(channel, asking(CLASSIFIER, pictures(100, 96, 96, seed))) for seed in range(4)]
        until(lambda: "requests_in_flight 4.0" in metrics(backend), "requests in flight", backend.command)
        backend.command.process.send_signal(signal.SIGTERM)
        assert [len(call.result().outputs) for call in calls] == [1] * 4
        assert backend.command.wait() == 0
    assert "given up" not in backend.command.errors


def metrics(backend: BackendProcess) -> str:
    said = subprocess.run(
        ["curl", "--silent", "--max-time", "10", f"http://{backend.http}/metrics"],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout


def test_its_networks_are_loaded_first_or_it_ends_with_one_line(tmp_path: Path) -> None:
    from tests.real.command import sluice

    named = ("--listen", f"unix:{tmp_path}/s", "--load", "vehicle-type@onnxruntime-int8")
    said = sluice("backend", *named, env={"SLUICE_CACHE": str(tmp_path / "cache")})
    assert said.returncode == 2
    assert "is not built yet" in said.stderr.splitlines()[-1]


def test_killed_and_started_again_it_sweeps_what_was_left_and_takes_its_address(tmp_path: Path) -> None:
    listen = f"unix:{tmp_path}/sluice.sock"
    for _ in range(2):
        with (
            backend_process(tmp_path, "--load", "street-kind", listen=listen) as backend,
            grpc.insecure_channel(backend.grpc) as channel,
        ):
            assert infer(channel, asking("street-kind", pictures(2, 48, 48))).result().outputs
            backend.command.kill()
            with pytest.raises(grpc.RpcError) as lost:
                infer(channel, asking("street-kind", pictures(2, 48, 48))).result()
            assert lost.value.code() is grpc.StatusCode.UNAVAILABLE


def test_stopped_for_a_while_it_answers_when_it_goes_on(tmp_path: Path) -> None:
    with (
        backend_process(tmp_path, "--load", "street-kind") as backend,
        grpc.insecure_channel(backend.grpc) as channel,
    ):
        request = asking("street-kind", pictures(2, 48, 48))
        wanted = infer(channel, request).result()
        backend.command.process.send_signal(signal.SIGSTOP)
        waiting = infer(channel, request)
        with pytest.raises(grpc.FutureTimeoutError):
            waiting.result(timeout=1)
        backend.command.process.send_signal(signal.SIGCONT)
        assert waiting.result().raw_output_contents == wanted.raw_output_contents


def test_a_network_that_does_not_return_is_out_of_service_and_others_are_answered(tmp_path: Path) -> None:
    looping_model(tmp_path / "models")
    mean_model(tmp_path / "models", "another")
    options = ("--models", tmp_path / "models", "--load", "endless", "--load", "another")
    with backend_process(tmp_path, *options, SLUICE_MODEL_TIMEOUT=5) as backend:
        with grpc.insecure_channel(backend.grpc) as channel:
            bright = asking("endless", np.full((1, 4, 4, 3), 255, np.uint8))
            for _ in range(2):
                with pytest.raises(grpc.RpcError) as refused:
                    infer(channel, bright).result()
                assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
                assert "did not return" in refused.value.details()
            assert infer(channel, asking("another", pictures(1))).result().outputs
        assert backend.command.terminate() == 0
