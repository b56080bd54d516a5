"""Parameters of messages and tensors: small values by name; and the bounds of what is read from another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from serving.common.untrusted import printable
from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import InferParameter


@dataclass(frozen=True, slots=True)
class WireLimits:
    """More than this is refused, by a client and by a backend alike."""

    message_bytes: int = 64 << 20
    """A message, and all tensors of a message together wherever they lie; gRPC's own limit is 4 MB."""
    tensors: int = 16
    """In a message."""
    dims: int = 8
    """Axes of a tensor."""
    parameters: int = 32
    """That a message or a tensor has."""
    text: int = 512
    """Characters of a name, or of a parameter's text."""
    card_bytes: int = 1 << 20
    """A card, as JSON."""


Value = bool | int | float | str
FIELDS = {bool: "bool_param", int: "int64_param", float: "double_param", str: "string_param"}


class ParameterMap(Protocol):
    """The map of a message: an entry is made when it is asked for."""

    def __getitem__(self, name: str, /) -> InferParameter:
        """The parameter of this name, made if it is not there."""


def set_parameter(parameters: ParameterMap, name: str, value: Value) -> None:
    setattr(parameters[name], FIELDS[type(value)], value)


def values(parameters: Mapping[str, InferParameter], limits: WireLimits) -> dict[str, Value]:
    """All values by name; Malformed for too many, for long ones and for those without a value."""
    if len(parameters) > limits.parameters:
        raise Malformed(f"{len(parameters)} parameters are more than the {limits.parameters} that are allowed")
    return {
        checked_name(name, "the name of a parameter", limits): _value(name, parameter, limits)
        for name, parameter in parameters.items()
    }


def checked_name(name: str, what: str, limits: WireLimits) -> str:
    """The name, which is neither empty nor long and has nothing that a terminal acts upon; else Malformed."""
    if not 0 < len(name) <= limits.text or not name.isprintable():
        raise Malformed(f"{what} must have 1 to {limits.text} printable characters, was {printable(name, 40)!r}")
    return name


def number(values: Mapping[str, Value], name: str, least: float, most: float) -> float | None:
    """A parameter that is a number between bounds; None where it is not there, Malformed for anything else."""
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool | str) or not least <= value <= most:
        raise Malformed(f"parameter {name} must be a number from {least:g} to {most:g}, was {printable(value, 40)!r}")
    return value


def whole(values: Mapping[str, Value], name: str, most: int) -> int | None:
    """A parameter that is a whole number from 0; None where it is not there, Malformed for anything else."""
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Malformed(f"parameter {name} must be a whole number from 0 to {most}, was {printable(value, 40)!r}")
    return value


def flag(values: Mapping[str, Value], name: str) -> bool:
    """A parameter that is true or false, false where it is not there; Malformed for anything else."""
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise Malformed(f"parameter {name} must be true or false, was {printable(value, 40)!r}")
    return value


def _value(name: str, parameter: InferParameter, limits: WireLimits) -> Value:
    kind = parameter.WhichOneof("parameter_choice")
    if kind is None:
        raise Malformed(f"parameter {printable(name, 40)!r} has no value")
    value: Value = getattr(parameter, kind)
    if isinstance(value, str) and len(value) > limits.text:
        raise Malformed(f"parameter {printable(name, 40)!r} has more than {limits.text} characters")
    return value


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
