"""The one way in for safetensors, of any origin: whatever is wrong with a file raises ``ModelError``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from numpy.typing import NDArray
from safetensors.numpy import load

from serving.common.untrusted import printable
from serving.errors import ModelError

S = TypeVar("S")
T = TypeVar("T")

LONGEST_REASON = 300
"""Characters; the reason may quote what was sent."""


def read_tensors(data: bytes, refusal: str) -> dict[str, NDArray[Any]]:
    """The tensors by name, of types that numpy has; for anything else ModelError: ``refusal``, and why."""
    return read_by(load, data, refusal)


def read_by(read: Callable[[S], dict[str, T]], source: S, refusal: str) -> dict[str, T]:
    """The same by another of the library's readers, such as that of a file for PyTorch."""
    try:
        return read(source)
    # A type that is not known is a KeyError, a size beyond the machine's a ValueError, and what libraries raise grows.
    except Exception as error:
        said = f"{error.args[0]} is not read here" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{refusal}: {printable(said, LONGEST_REASON)}") from None


def names(tensors: Collection[str]) -> str:
    return printable(", ".join(sorted(tensors)), LONGEST_REASON) or "nothing"
