"""Variants: the ways in which one registered network can be run (Romero et al., 2021, §2.1 and §3.2).

A variant is engine × precision × input size × batch limit. A batch limit needs no artefact of its
own: the same file runs batches of any size, and a profile holds ℓ(b) for every b measured. So ``max_batch`` is a bound
on which of those b may be used, by default all of them; variants that differ in nothing else share file and profile.

Only detectors take smaller inputs: a network that only convolves takes pictures of any size, and finds small things
worse. With YOLOX's decoding each cell of its grids sees its own surroundings, and the grids follow from the size and
the strides (Ge et al., 2021). Boxes of other detectors may be bound to the size that they were made for.

A variant may also be run elsewhere: ``vehicle-type on gpu`` is the model as the backend ``gpu`` of the query serves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, TypeVar, get_args

from serving.catalogue.cards import ModelCard
from serving.catalogue.decodings import YoloxDecoding
from serving.common.explain import choices
from serving.common.precision import PRECISIONS, Precision
from serving.errors import ModelError

T = TypeVar("T", bound=str)

EngineName = Literal["onnxruntime", "openvino"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

RUNS: dict[EngineName, tuple[Precision, ...]] = {
    "onnxruntime": ("fp32", "tf32", "fp16", "int8"),
    "openvino": ("fp32", "bf16", "int8"),
}
"""The precisions of every engine; ONNX Runtime computes in tf32 and fp16 on GPUs alone."""

_FORM = re.compile(
    r"(?P<model>[^@]+)@(?P<engine>[a-z]+)-(?P<precision>[a-z0-9]+)"
    r"(-size(?P<size>[1-9]\d{0,3}))?(-batch(?P<batch>[1-9]\d*))?"
)
ON = " on "
"""Stands between a model's name, or a variant's, and the backend that serves it."""
ANYWHERE = "auto"
"""In the place of a backend: here, or at whichever backend answers sooner."""
_BACKEND = re.compile(r"[a-z][a-z0-9-]{0,49}")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run a network."""

    model: str
    engine: EngineName
    precision: Precision
    size: int | None = None
    """Width of the input in pixels; None: as the card says. only detectors can take another."""
    max_batch: int | None = None
    """The most items in one batch; None: as many as the profile has."""
    backend: str | None = None
    """The backend that serves it, or ``auto``; None: this process runs it."""

    @property
    def id(self) -> str:
        """Such as ``vehicle-type@openvino-int8`` or ``yolox-nano@onnxruntime-fp32-size320-batch8 on gpu``."""
        batch = "" if self.max_batch is None else f"-batch{self.max_batch}"
        how = f"{self.engine}-{self.precision}{_size(self.size)}{batch}"
        return f"{self.model}@{how}{_on(self.backend)}"

    @property
    def profiled(self) -> Variant:
        """The variant whose profile holds for this one: the same without a batch limit."""
        return replace(self, max_batch=None)

    @property
    def artefact(self) -> str | None:
        """Stem of the file that must be built before this runs; None where the network's own file does.

        Engines share files: bf16 and tf32 are ways to run the fp32 one, and all run the same int8 one.
        """
        precision = self.precision if self.precision in ("int8", "fp16") else "fp32"
        stem = f"{precision}{_size(self.size)}"
        return None if stem == "fp32" else stem


def reference(model: str, backend: str | None = None) -> Variant:
    """The variant that the others are compared with: the network as it is, in the default engine."""
    return Variant(model, "onnxruntime", "fp32", backend=backend)


def placed(name: str) -> tuple[str, str | None]:
    """A name as the place knows it that runs it, and the backend: None for this process. ModelError for no name.

    >>> placed("vehicle-type@openvino-bf16 on gpu"), placed("vehicle-type")
    (('vehicle-type@openvino-bf16', 'gpu'), ('vehicle-type', None))
    """
    served, on, backend = name.partition(ON)
    if not on:
        return name, None
    if not served or _BACKEND.fullmatch(backend) is None:
        raise ModelError(f"model {name!r}: must be MODEL on BACKEND, as vehicle-type on gpu")
    return served, backend


def parse(name: str) -> Variant:
    """A variant's id, or a model's name, which means its reference; raises ModelError for anything else."""
    served, backend = placed(name)
    if "@" not in served:
        return reference(served, backend)
    found = _FORM.fullmatch(served)
    if found is None:
        raise ModelError(f"variant {name!r}: must be MODEL@ENGINE-PRECISION[-sizeN][-batchN], as model@openvino-int8")
    engine: EngineName = _known(name, "engine", found["engine"], ENGINES)
    precision: Precision = _known(name, "precision", found["precision"], PRECISIONS)
    if precision not in RUNS[engine]:
        raise ModelError(f"variant {name!r}: {engine} does not run {precision}, only {', '.join(RUNS[engine])}")
    size, batch = (_number(found[key]) for key in ("size", "batch"))
    return Variant(found["model"], engine, precision, size, batch, backend)


def generate(
    model: str,
    engines: Iterable[EngineName] = ("onnxruntime", "openvino"),
    precisions: Iterable[Precision] = PRECISIONS,
    sizes: Iterable[int] = (),
) -> list[Variant]:
    """All variants of a model that these engines run, the reference first whether asked for or not.

    ``sizes``: other widths of its input; weights are left as they are there.
    """
    engines, precisions = tuple(engines), tuple(precisions)
    first = reference(model)
    asked = (
        Variant(model, engine, precision)
        for engine, precision in product(engines, precisions)
        if precision in RUNS[engine]
    )
    smaller = (
        Variant(model, engine, precision, size=size)
        for size, engine, precision in product(sizes, engines, precisions)
        if precision in RUNS[engine] and precision != "int8"
    )
    return list(dict.fromkeys([first, *asked, *smaller]))


def _on(backend: str | None) -> str:
    return "" if backend is None else f"{ON}{backend}"


def _size(size: int | None) -> str:
    return "" if size is None else f"-size{size}"


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _known(name: str, what: str, given: str, allowed: tuple[T, ...]) -> T:
    for each in allowed:
        if each == given:
            return each
    raise ModelError(f"variant {name!r}: unknown {what} {given!r}{choices(given, allowed)}")


SHARES = (0.77, 0.62)
"""Widths that are measured, as shares of the card's: .6 and .4 of its work."""


def sizes_of(card: ModelCard) -> tuple[int, ...]:
    """Return the smaller widths that a model is measured with, in pixels; none where it takes no other."""
    if not isinstance(card.decoding, YoloxDecoding):
        return ()
    step = max(card.decoding.strides)
    widths = (step * round(share * card.input.width / step) for share in SHARES)
    return tuple(dict.fromkeys(width for width in widths if 0 < width < card.input.width))


def sized(card: ModelCard, variant: Variant) -> ModelCard:
    """Return the card with the input that the variant takes; raises ModelError where the model cannot take it."""
    width = variant.size
    if width is None or width == card.input.width:
        return card
    if not isinstance(card.decoding, YoloxDecoding):
        raise ModelError(f"variant {variant.id!r}: only detectors with 'decoding' of kind yolox take another size")
    step = max(card.decoding.strides)
    if width % step or width > card.input.width:
        raise ModelError(
            f"variant {variant.id!r}: the size must be a multiple of {step} and at most {card.input.width}"
        )
    height = max(step, step * round(card.input.height * width / card.input.width / step))
    return card.model_copy(update={"input": card.input.model_copy(update={"width": width, "height": height})})


def cells(card: ModelCard) -> int:
    """Return the number of places at which a detector looks: what its output must have for each picture."""
    assert isinstance(card.decoding, YoloxDecoding)
    return sum((card.input.width // stride) * (card.input.height // stride) for stride in card.decoding.strides)
