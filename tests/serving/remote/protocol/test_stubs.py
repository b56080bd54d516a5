from __future__ import annotations

from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parents[4]
DEFINITION = "serving/remote/protocol/inference.proto"


def test_the_messages_are_what_the_definition_gives(tmp_path: Path) -> None:
    out = tmp_path / "inference.binpb"
    assert protoc.main(["protoc", f"-I{ROOT}", f"--descriptor_set_out={out}", DEFINITION]) == 0
    assert (ROOT / DEFINITION).with_suffix(".binpb").read_bytes() == out.read_bytes(), "run `make stubs`"


def test_the_types_of_the_stubs_name_every_message_and_field(tmp_path: Path) -> None:
    assert protoc.main(["protoc", f"-I{ROOT}", f"--pyi_out={tmp_path}", DEFINITION]) == 0
    made = (tmp_path / DEFINITION).with_name("inference_pb2.pyi").read_text()
    assert (ROOT / DEFINITION).with_name("inference_pb2.pyi").read_text() == made, "run `make stubs`"
