"""A network as a backend serves it: the card by which operators use it, and the tensors of its calls.

Our own backend sends the card; it is held against the card of that name here, where there is one. Servers of others
send names, types and shapes of tensors only: the card must be here, and fit them. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array, TensorSpec
from serving.common.untrusted import printable
from serving.errors import Malformed, ModelError
from serving.remote.protocol.inference_pb2 import ModelMetadataResponse
from serving.remote.protocol.parameters import WireLimits, checked_name
from serving.remote.protocol.tensors import DTYPES, dtype_of
from serving.remote.protocol.wire_card import wire_card

DESCRIBING = {"version", "tier", "file", "sha256", "licence", "source", "description", "accuracy", "views", "joules"}
"""Keys of a card that change nothing of how a network is asked and read."""
TensorMetadata = ModelMetadataResponse.TensorMetadata


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A network of a backend that may be called."""

    served: str
    """Its name there, perhaps with a variant."""
    card: ModelCard
    """The input that travels, and how the outputs that come are read."""
    identity: str | None
    """Digest of the weights and what they are fed; None where the server cannot tell."""
    input: str
    """The name of its input."""
    outputs: tuple[tuple[str, TensorSpec], ...]
    """In the order of the card."""
    max_batch: int | None = None
    """The most pictures of one call; None: as many as a message takes."""

    def check_input(self, batch: Array) -> None:
        """Raise ModelError for what is no batch of pictures: N × height × width × 3, or with the colours first."""
        size = self.card.input
        colours = 1 if size.layout == "nchw" else 3
        if batch.ndim != 4 or batch.dtype != np.dtype(size.dtype) or batch.shape[colours] != 3:
            given = " × ".join(map(str, batch.shape))
            raise ModelError(f"{self.served} takes {size.dtype} pictures, was given {batch.dtype.name} {given}")

    def can_replace(self, other: RemoteModel) -> bool:
        """Whether it is asked and read as another one, so that operators can go on with it.

        An embedder never can: its vectors say nothing beside those of another one.
        """
        mine, its = (each.card.model_dump(exclude=DESCRIBING) for each in (self, other))
        return self.card.task != "embed" and mine == its and (self.input, self.outputs) == (other.input, other.outputs)

    def in_order(self, answer: dict[str, Array], items: int) -> list[Array]:
        """The outputs of a call in the card's order; Malformed where one is missing, or is not as was announced."""
        return [_checked(name, spec, answer, items) for name, spec in self.outputs]


def of_ours(served: str, card: ModelCard, own: ModelCard | None, tensors: Tensors) -> RemoteModel:
    """A network of our own backend, which has told its card of the catalogue.

    ``own``: the card of this name here. Raises ModelError where that is another network, or the tensors are not those
    that travel for it.
    """
    if own is not None and own.identity != card.identity:
        raise ModelError(
            f"{served}: the backend serves another network than {own.name} {own.version} of this machine "
            f"({card.name} {card.version}, {card.identity[:12]} in place of {own.identity[:12]}): give both the same"
        )
    used = wire_card(own or card)
    return RemoteModel(served, used, card.identity, _input(served, used, tensors), _chosen(served, used, tensors))


def of_others(served: str, own: ModelCard | None, tensors: Tensors) -> RemoteModel:
    """A network of another server; raises ModelError where there is no card, or it does not fit the tensors."""
    if own is None:
        raise ModelError(f"{served}: the server does not describe it: write a card of that name (docs/models.md)")
    bounds = [most for most in (own.max_batch, tensors.spec.shape[0]) if most]  # many servers name the batch they take
    outputs = _chosen(served, own, tensors)
    return RemoteModel(served, own, None, _input(served, own, tensors), outputs, min(bounds, default=None))


@dataclass(frozen=True, slots=True)
class Tensors:
    """The tensors of a network, as a server has announced them."""

    input: str
    spec: TensorSpec
    outputs: tuple[tuple[str, TensorSpec], ...]


def read_tensors(said: ModelMetadataResponse, limits: WireLimits) -> Tensors:
    """The tensors that metadata announce; Malformed for nonsense, and for a network without exactly one input."""
    if len(said.inputs) != 1:
        raise Malformed(f"{len(said.inputs)} inputs, where a network of pictures has one")
    if not 0 < len(said.outputs) <= limits.tensors:
        raise Malformed(f"{len(said.outputs)} outputs, where 1 to {limits.tensors} are allowed")
    (name, spec), *_ = _tensors(said.inputs, limits)
    spoken = [each for each in said.outputs if each.datatype in DTYPES]  # beside them there may be texts
    outputs = _tensors(spoken or said.outputs[:1], limits)
    if len({each for each, _ in outputs}) != len(outputs):
        raise Malformed("two outputs have one name")
    return Tensors(name, spec, tuple(outputs))


def _tensors(said: Sequence[TensorMetadata], limits: WireLimits) -> list[tuple[str, TensorSpec]]:
    found = []
    for each in said:
        name = checked_name(each.name, "the name of a tensor", limits)
        if not 0 < len(each.shape) <= limits.dims or not all(-1 <= dim < 1 << 31 for dim in each.shape):
            raise Malformed(f"tensor {name}: its shape makes no sense")
        shape = tuple(None if dim < 0 else int(dim) for dim in each.shape)
        found.append((name, TensorSpec(dtype_of(each.datatype, f"tensor {name}"), shape)))
    return found


def _input(served: str, card: ModelCard, tensors: Tensors) -> str:
    """The name of the input, which must take the pictures that the card means."""
    wanted, shape = np.dtype(card.input.dtype), tensors.spec.shape
    fits = len(shape) == 4 and all(
        dim in (None, size) for dim, size in zip(shape[1:], card.input.item_shape, strict=True)
    )
    if tensors.spec.dtype != wanted or not fits:
        asked = TensorSpec(wanted, (None, *card.input.item_shape))
        raise ModelError(f"{served}: its input {tensors.input} is {tensors.spec}, its card means {asked}")
    return tensors.input


def _chosen(served: str, card: ModelCard, tensors: Tensors) -> tuple[tuple[str, TensorSpec], ...]:
    """The outputs that are read by the card."""
    there = dict(tensors.outputs)
    for name in (read := card.read(there)):
        if name not in there:
            names = ", ".join(printable(each, 40) for each in there)
            raise ModelError(f"{served}: the server has no output {name!r} of its card; it has {names}")
    chosen = tuple((name, there[name]) for name in read)
    last = chosen[0][1].shape[-1]
    if card.task == "classify" and last is not None and last != len(card.classes):
        raise ModelError(f"{served}: the server scores {last} classes, its card lists {len(card.classes)}")
    return chosen


def _checked(name: str, spec: TensorSpec, answer: dict[str, Array], items: int) -> Array:
    found = answer.get(name)
    if found is None:
        raise Malformed(f"the output {name} is missing")
    fits = found.ndim == len(spec.shape) and all(
        dim in (None, size) for dim, size in zip(spec.shape[1:], found.shape[1:], strict=True)
    )
    if found.dtype != spec.dtype or not fits or len(found) != items:
        given = " × ".join(map(str, found.shape))
        raise Malformed(f"the output {name} is {found.dtype.name} {given} for {items} pictures, announced was {spec}")
    return found
