"""Built caches as a file: safetensors with a card, refused unless it is what was written and belongs to the network.

Nothing else of Sluice's learning is needed to read one. The card is JSON in a tensor of bytes; sizes are bounded before
anything is allocated; shapes must follow from the card.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from cache_adapt.caches.architectures import form, shape_read
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.predictor import Predictor
from cache_adapt.caches.selector import HIDDEN, Selector
from learning.array_files import as_features
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.weights import names, read_tensors

MOST_BYTES = 32 << 20
MOST_CACHES = 8
NO_CARD = np.zeros(0, np.uint8)
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(ge=1, le=65536)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class CacheCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cache, but for its weights."""

    tensor: Name
    architecture: Annotated[str, msgspec.Meta(max_length=40)]
    grid: tuple[Size, Size, Size]
    """Channels, rows, columns of the pooled activations that it reads."""
    selector: bool
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1.1)]
    hit_rate: Share
    """Share of all inputs that it answered where it was calibrated."""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The purpose of a file of caches, and its expected figures."""

    schema: Literal["sluice.caches/1"]
    model: Name
    """The network's name, or that of a variant."""
    model_identity: Digest
    """Digest of its weights and of what it is fed."""
    classes: Annotated[int, msgspec.Meta(ge=2, le=65536)]
    agreement: Share
    """The calibration's target."""
    of: Literal["inputs", "answers"]
    """Among what at most 1 − ``agreement`` is wrong."""
    samples: Annotated[int, msgspec.Meta(ge=1)]
    speedup: Annotated[float, msgspec.Meta(ge=0)]
    """Expected, in latency of one input, as it was measured where it was built."""
    caches: Annotated[tuple[CacheCard, ...], msgspec.Meta(min_length=1, max_length=MOST_CACHES)]
    """In the order of the network."""


@dataclass(frozen=True)
class BuiltCaches:
    """The caches of one network."""

    card: Card
    caches: tuple[LearnedCache, ...]
    """In the order of the network."""

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(cache.tensor for cache in self.caches)

    def to_bytes(self, half: bool = False) -> bytes:
        """Encode as safetensors; ``half``: weights in float16, clipped to what that holds."""
        tensors: dict[str, NDArray[np.generic]] = {"card": np.frombuffer(msgspec.json.encode(self.card), np.uint8)}
        for number, cache in enumerate(self.caches):
            for name, part in _parts(cache).items():
                tensors[f"{number}.{name}"] = np.ascontiguousarray(as_features(part) if half else part)
        data: bytes = save(tensors)
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> BuiltCaches:
        """Read the output of ``to_bytes``; ModelError for anything else."""
        if len(data) > MOST_BYTES:
            raise ModelError(f"learned caches of {len(data)} bytes are more than the {MOST_BYTES} that are allowed")
        tensors = read_tensors(data, "learned caches are damaged")
        try:
            card = decode(tensors.pop("card", NO_CARD).tobytes(), Card)
        except Malformed as error:
            raise ModelError(f"learned caches are damaged: their card: {error}") from None
        wanted = {f"{number}.{name}" for number, each in enumerate(card.caches) for name in _shapes(each, card.classes)}
        if set(tensors) != wanted:
            raise ModelError(f"learned caches are damaged: they have {names(tensors)}")
        return cls(card, tuple(_cache(number, each, card, tensors) for number, each in enumerate(card.caches)))


def digest(data: bytes) -> str:
    """The sha256 of a file of caches, which names its version."""
    return hashlib.sha256(data).hexdigest()


def write(path: Path, built: BuiltCaches) -> str:
    """Write a file and, beside it, its digest, which is returned; BadInput where the place cannot be written to."""
    data = built.to_bytes()
    atomic.write(path, data)
    atomic.write(_note(path), digest(data).encode() + b"\n")
    return digest(data)


def read(path: Path, model: str, identity: str) -> BuiltCaches | None:
    """The caches in a file; None where there is none. ModelError where it is damaged or for another network.

    ``model``: the network's name, or a variant's id; ``identity``: the digest of what it runs.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        noted = _note(path).read_text("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    if digest(data) != noted:
        raise ModelError(f"{path}: damaged, its sha256 is not the one beside it; build the caches again")
    try:
        built = BuiltCaches.from_bytes(data)
    except ModelError as error:
        raise ModelError(f"{path}: {error}; build them again") from None
    if built.card.model_identity != identity:
        others = "other weights, or another input, than here" if built.card.model == model else built.card.model
        remedy = f"build them with: sluice caches build {model.partition('@')[0]}"
        raise ModelError(f"{path}: made for {others}, not for {model}; {remedy}")
    return built


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _parts(cache: LearnedCache) -> dict[str, NDArray[np.float32]]:
    layers = {"predictor.hidden": cache.predictor.hidden, "predictor.output": cache.predictor.output}
    if cache.selector is not None:
        layers |= {"selector.hidden": cache.selector.hidden, "selector.output": cache.selector.output}
    found = {}
    for name, layer in layers.items():
        if layer is not None:
            found[f"{name}.weights"], found[f"{name}.bias"] = layer
    return found


def _shapes(card: CacheCard, classes: int) -> dict[str, tuple[int, ...]]:
    """The shape of every part of a cache, as it follows from its card; ModelError where there is none."""
    read = shape_read(card.architecture, card.grid)
    if read is None:
        raise ModelError(f"learned caches are damaged: {card.architecture} cannot read {card.grid}")
    pieces, values = read
    layers: dict[str, tuple[int, int]] = {}
    if (hidden := form(card.architecture).hidden) is not None:
        layers["predictor.hidden"] = values, hidden
        values = hidden
    layers["predictor.output"] = pieces * values, classes
    if card.selector:
        layers |= {"selector.hidden": (classes, HIDDEN), "selector.output": (HIDDEN, 1)}
    found: dict[str, tuple[int, ...]] = {}
    for name, (inputs, outputs) in layers.items():
        found |= {f"{name}.weights": (inputs, outputs), f"{name}.bias": (outputs,)}
    return found


def _cache(number: int, card: CacheCard, whole: Card, tensors: dict[str, NDArray[np.generic]]) -> LearnedCache:
    for name, shape in _shapes(card, whole.classes).items():
        part = tensors[f"{number}.{name}"]
        if part.shape != shape or part.dtype not in (np.float32, np.float16) or not np.isfinite(part).all():
            raise ModelError(f"learned caches are damaged: {number}.{name} is {part.dtype} of {part.shape}")

    def layer(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        weights = tensors.get(f"{number}.{name}.weights")
        if weights is None:
            return None
        return weights.astype(np.float32), tensors[f"{number}.{name}.bias"].astype(np.float32)

    output = layer("predictor.output")
    assert output is not None
    predictor = Predictor(card.architecture, card.grid, layer("predictor.hidden"), output)
    hidden, last = layer("selector.hidden"), layer("selector.output")
    selector = Selector(hidden, last) if hidden and last else None
    return LearnedCache(card.tensor, predictor, selector, card.threshold)


def cards(caches: Sequence[LearnedCache], hit_rates: Sequence[float]) -> tuple[CacheCard, ...]:
    """The cards of caches, with what each answered where it was calibrated."""
    return tuple(
        CacheCard(
            cache.tensor,
            cache.predictor.name,
            cache.predictor.grid,
            cache.selector is not None,
            float(cache.threshold),
            min(max(float(rate), 0.0), 1.0),
        )
        for cache, rate in zip(caches, hit_rates, strict=True)
    )
