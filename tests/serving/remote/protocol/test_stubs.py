from __future__ import annotations

from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

from serving.remote.protocol import inference_pb2

ROOT = Path(__file__).parents[4]
DEFINITION = "serving/remote/protocol/inference.proto"


def without_json_names(messages: list[DescriptorProto]) -> None:
    for message in messages:
        for field in message.field:
            field.ClearField("json_name")
        without_json_names(list(message.nested_type))


def test_the_stubs_are_what_the_definition_gives(tmp_path: Path) -> None:
    out = tmp_path / "set"
    assert protoc.main(["protoc", f"-I{ROOT}", f"--descriptor_set_out={out}", DEFINITION]) == 0
    (defined,) = FileDescriptorSet.FromString(out.read_bytes()).file
    without_json_names(list(defined.message_type))
    committed = FileDescriptorProto()
    inference_pb2.DESCRIPTOR.CopyToProto(committed)
    without_json_names(list(committed.message_type))
    assert committed == defined, "run `make stubs`"


def test_the_types_of_the_stubs_name_every_message_and_field(tmp_path: Path) -> None:
    assert protoc.main(["protoc", f"-I{ROOT}", f"--pyi_out={tmp_path}", DEFINITION]) == 0
    made = (tmp_path / DEFINITION).with_name("inference_pb2.pyi").read_text()
    assert (ROOT / DEFINITION).with_name("inference_pb2.pyi").read_text() == made, "run `make stubs`"
