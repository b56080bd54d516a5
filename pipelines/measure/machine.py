"""Gathers what there is on this machine, for ``findings``."""

from __future__ import annotations

import shutil
import subprocess

from pipelines.measure.findings import CODECS, Machine
from pipelines.process.extras import absent
from pipelines.process.heap import machine_memory_bytes
from serving.catalogue.lookup import Catalogue
from serving.common.libraries import versions_of
from serving.common.threads import usable_cores
from serving.errors import ModelError
from serving.variants.profiles import processor

PACKAGES = ("onnxruntime", "onnxruntime-gpu", "openvino")
ASK_S = 10.0
"""Time that the GPU's tool is given."""


def this_machine(known: Catalogue, broker: str | None = None, refusal: str | None = None) -> Machine:
    """Look at everything but the broker, of which the caller knows; takes a second or two."""
    name, flags = processor()
    whole, faulty = _models(known)
    gpu = _gpu()
    return Machine(
        processor=name,
        cores=usable_cores(),
        memory_bytes=machine_memory_bytes(),
        flags=flags,
        versions=versions_of(PACKAGES),
        gpu=gpu,
        why_not_on_gpu=None if gpu is None else _why_not_on_gpu(),
        codecs=_codecs(),
        models=whole,
        faulty=tuple(faulty),
        broker=broker,
        absent=tuple(absent()),
        refusal=refusal,
    )


def _why_not_on_gpu() -> str | None:
    try:
        from serving.engines.execution_device import why_not_on_gpu
    except ImportError:
        return "ONNX Runtime is not installed"
    return why_not_on_gpu()


def _gpu() -> str | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.partition("\n")[0].strip() or None


def _codecs() -> frozenset[str]:
    import av

    return frozenset(CODECS) & frozenset(av.codecs_available)


def _models(known: Catalogue) -> tuple[int, list[str]]:
    faulty, names = [], known.names()
    for name in names:
        try:
            if not known.find(name).path.is_file():
                faulty.append(f"{name}: its weights are missing")
        except ModelError as error:
            faulty.append(str(error))
    return len(names) - len(faulty), faulty
