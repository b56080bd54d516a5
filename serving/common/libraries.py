"""Libraries: which versions are there, what the one of C has kept of freed memory; and they report to their makers, or
write to the terminal, unless they are told not to before they are imported.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import cast

_SWITCH, _REPORTER = "ORT_DISABLE_TELEMETRY", "openvino_telemetry"


@contextmanager
def silent() -> Iterator[None]:
    """Import ONNX Runtime or OpenVINO in this block, which leaves the process as it was.

    ONNX Runtime would write a device id at home and report its use; OpenVINO does where it finds the part for that.
    """
    switched, found = _SWITCH in os.environ, _REPORTER in sys.modules
    os.environ.setdefault(_SWITCH, "1")
    sys.modules.setdefault(_REPORTER, cast(ModuleType, None))
    try:
        yield
    finally:
        if not switched:
            del os.environ[_SWITCH]
        if not found:
            del sys.modules[_REPORTER]


def hush_grpc() -> None:
    """Have gRPC, when it is imported, write nothing by itself: its lines quote what servers say as it comes."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those of the packages that are there."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def give_back() -> None:
    """Hand memory that has been freed back to the machine; the C library would keep it for later otherwise."""
    # Other C libraries than glibc have no such call and return freed memory by themselves.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
