"""Where a tensor lies that does not travel in its message: so many bytes of a region of shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import InferParameter
from serving.remote.protocol.parameters import ParameterMap, WireLimits, checked_name, set_parameter, values, whole

REGION, OFFSET, SIZE = "shared_memory_region", "shared_memory_offset", "shared_memory_byte_size"
"""Triton's names of a tensor's parameters."""


class SharedPlace(NamedTuple):
    """Bytes of a region that the server knows by this name."""

    region: str
    offset: int
    size: int
    """Bytes: of an input all, of an output those that it may take."""


def put_place(parameters: ParameterMap, place: SharedPlace) -> None:
    set_parameter(parameters, REGION, place.region)
    set_parameter(parameters, OFFSET, place.offset)
    set_parameter(parameters, SIZE, place.size)


def read_place(parameters: Mapping[str, InferParameter], what: str, limits: WireLimits) -> SharedPlace | None:
    """The place of a tensor, None where it travels in the message; Malformed where it is half said or too large."""
    if not parameters:
        return None
    said = values(parameters, limits)
    region = said.get(REGION)
    if region is None:
        return None
    size = whole(said, SIZE, limits.message_bytes)
    if not isinstance(region, str) or size is None:
        raise Malformed(f"{what}: {REGION} must be a name, and {SIZE} be given")
    return SharedPlace(checked_name(region, REGION, limits), whole(said, OFFSET, 1 << 40) or 0, size)
