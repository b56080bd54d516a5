"""The how-tos about networks on other machines: serving them, and asking a vision model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc.aio

from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.service import SERVER_READY
from tests.doc_pages import ROOT
from tests.how_to.reader import Reader, Running
from tests.real.environments import python_with
from tests.real.ports import free_port
from tests.real.process import until
from tests.real.vision import Said, vision
from tests.serving.remote.server.test_door import certificates

TOKEN = "a token of sixteen characters or more"


async def _is_ready(at: str, pem: dict[str, bytes] | None) -> bool:
    if pem is None:
        channel = grpc.aio.insecure_channel(at)
    else:
        options = [("grpc.ssl_target_name_override", "localhost")]
        channel = grpc.aio.secure_channel(at, grpc.ssl_channel_credentials(pem["ca.pem"]), options)
    async with channel:
        try:
            metadata = grpc.aio.Metadata(("authorization", f"Bearer {TOKEN}"))
            return (await SERVER_READY.on(channel)(pb.ServerReadyRequest(), metadata=metadata)).ready
        except grpc.aio.AioRpcError:
            return False


def serves(backend: Running, at: str, pem: dict[str, bytes] | None = None) -> bool:
    """Whether it becomes ready."""
    until(lambda: backend.process.poll() is not None or asyncio.run(_is_ready(at, pem)), f"{at} is not ready")
    assert backend.process.poll() is None, backend.errors
    return True


def test_networks_are_served(tmp_path: Path) -> None:
    python = python_with("tritonclient[grpc,http]")
    with Reader("serve-networks", tmp_path) as reader:
        keys = tmp_path / "keys"
        keys.mkdir()
        pem = certificates(keys)
        for name, file in (("cert", "server.pem"), ("key", "server.key")):
            (reader.folder / f"{name}.pem").write_bytes(pem[file])
        (reader.folder / "token").write_text(TOKEN)
        install, here, others, socket = reader.commands({"unix:/run/sluice/": f"unix:{tmp_path}/"})
        assert install == "pip install 'sluice-video[remote,serve]'"

        port = free_port()
        backend = reader.start(f"{here} --listen 127.0.0.1:{port}")
        assert serves(backend, f"127.0.0.1:{port}")
        pictures = "import numpy as np\npictures = np.zeros((1, 96, 96, 3), np.uint8)\n"
        code = reader.block("python").replace("127.0.0.1:8001", f"127.0.0.1:{port}")
        (reader.folder / "client.py").write_text(f"{pictures}{code}print(scores.shape)")
        assert "(1, 8)" in reader.run(f"{python} client.py")
        assert backend.terminate() == 0

        port = free_port()
        line = others.replace("0.0.0.0:8001", f"0.0.0.0:{port}").replace("127.0.0.1:8000", f"127.0.0.1:{free_port()}")
        assert line != others
        assert serves(reader.start(line), f"127.0.0.1:{port}", pem)
        assert serves(reader.start(socket), f"unix:{tmp_path}/backend.sock")


def test_a_vision_model_is_asked(tmp_path: Path) -> None:
    with vision(lambda asked: Said('{"label": "food"}')) as server, Reader("ask-a-vision-model", tmp_path) as reader:
        server.models = Said(body=b'{"data": [{"id": "qwen2.5-vl-7b"}, {"id": "tiny"}]}')
        nodes, behind = reader.block("yaml"), reader.block("yaml")
        reader.environ["VLM_KEY"] = "a-key-of-some-length"
        clip = ROOT / "examples" / "street.mp4"
        head = f"version: 1\nname: trades\nslo_ms: 500\nstreams: [{{id: street, uri: '{clip}'}}]\n"
        query = head + nodes.replace("https://vlm.example.com/v1", server.url).replace("yolox-nano", "motion")
        (reader.folder / "query.yaml").write_text(query.replace("track[label == truck]", "track"))
        reader.run("sluice check query.yaml")
        assert server.asked[0].headers["Authorization"] == "Bearer a-key-of-some-length"
        reader.run("sluice run query.yaml --limit 60 --out results.jsonl")
        assert '"food"' in (reader.folder / "results.jsonl").read_text()
        assert "vehicle-type" in behind
