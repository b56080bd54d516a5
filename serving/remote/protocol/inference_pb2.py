"""The messages of the protocol, from its definition as ``make stubs`` compiles it: code that is generated runs with the
protobuf that it was made for and with later ones only.
"""

from __future__ import annotations

from importlib.resources import files

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.internal import builder

(_file,) = FileDescriptorSet.FromString(files(__package__).joinpath("inference.binpb").read_bytes()).file
DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(_file.SerializeToString())
builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())
