"""The exits of one network as bytes: safetensors with a card, refused unless they are what was written.

The card is JSON in a tensor of bytes; sizes are bounded before anything is allocated; shapes must follow from the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from cache_adapt.learned.learned_exit import Layer, LearnedExit, SoftMap
from cache_adapt.learned.rows import FOLDS
from cache_adapt.learned.vocabulary import Number, Vocabulary, is_ascending
from learning.features import as_features
from serving.common.untrusted import decode
from serving.common.weights import names, read_tensors
from serving.errors import Malformed, ModelError

MOST_BYTES = 32 << 20
MOST_EXITS = 8
MOST_VALUES = 2048
"""Values of a tap."""
DAMAGED = "learned exits are damaged"
NO_CARD = np.zeros(0, np.uint8)
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(ge=1, le=65536)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
WordNumber = Annotated[int, msgspec.Meta(ge=0, le=65536)]
Tensors = dict[str, NDArray[np.generic]]


class ExitCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One exit, but for its weights."""

    tensor: Name
    architecture: Literal["Pool(2048)"]
    """It reads the tap as it is; there has been no other form."""
    grid: tuple[Size, Size, Size]
    """Channels, rows, columns of the tap that it reads."""
    seen: Annotated[tuple[WordNumber, ...], msgspec.Meta(min_length=2)]
    """The words that it knows, ascending."""
    soft: Annotated[tuple[Number, ...], msgspec.Meta(min_length=1)]
    """The labels that its soft map tells of, ascending."""
    selector: Literal[False] = False
    """There has never been one."""
    threshold: Share = 0.0
    hit_rate: Share = 0.0
    """Share of all inputs that it answered where its threshold was tuned."""

    @classmethod
    def of(cls, known: LearnedExit, hit_rate: float = 0.0) -> ExitCard:
        """The card of an exit."""
        threshold, rate = (min(max(float(each), 0.0), 1.0) for each in (known.threshold, hit_rate))
        return cls(
            known.tensor, "Pool(2048)", known.grid, known.seen, known.soft.labels, threshold=threshold, hit_rate=rate
        )

    @property
    def values(self) -> int:
        """Number of values of the tap."""
        return self.grid[0] * self.grid[1] * self.grid[2]


class ArtefactCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The purpose of an artefact, and its expected figures."""

    schema: Literal["sluice.exits/2"]
    model: Name
    """The network's name, or that of a variant."""
    model_identity: Digest
    """Digest of its weights and of what it is fed."""
    vocabulary: Vocabulary
    samples: Annotated[int, msgspec.Meta(ge=1)]
    exits: Annotated[tuple[ExitCard, ...], msgspec.Meta(min_length=1, max_length=MOST_EXITS)]
    """In the order of the network."""
    agreement: Share = 0.0
    """The aim of the thresholds; 0: they are not tuned."""
    of: Literal["inputs", "answers"] = "answers"
    """Among what at most 1 − ``agreement`` is wrong."""
    folds: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The folds of samples that have exits which have not seen them: all, or none."""
    speedup: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Expected, in latency of one input, as it was measured where the thresholds were tuned."""

    def __post_init__(self) -> None:
        labels = self.vocabulary.labels
        if not all(is_ascending(each.seen, labels + 1) and is_ascending(each.soft, labels) for each in self.exits):
            raise ValueError("the words of an exit must be the recogniser's, ascending")
        if len({each.tensor for each in self.exits}) < len(self.exits):
            raise ValueError("two exits are at the same cut")
        if self.folds not in (0, FOLDS):
            raise ValueError(f"there are {FOLDS} folds, or none")


@dataclass(frozen=True)
class ExitArtefact:
    """The exits of one network."""

    card: ArtefactCard
    exits: tuple[LearnedExit, ...]
    """In the order of the network."""
    folds: tuple[tuple[LearnedExit, ...], ...] = ()
    """By fold: exits at the same cuts that were trained on all samples but those of the fold."""

    def unseen(self, fold: int) -> tuple[LearnedExit, ...]:
        """Exits that have seen no sample of a fold; those that are used where there are no others."""
        return self.folds[fold] if self.folds else self.exits

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(each.tensor for each in self.exits)

    def to_bytes(self) -> bytes:
        """Encode as safetensors, weights in float16, clipped to what that holds; biases stay as they are."""
        tensors: Tensors = {"card": np.frombuffer(msgspec.json.encode(self.card), np.uint8)}
        for prefix, exits in zip(_prefixes(self.card), (self.exits, *self.folds), strict=True):
            for number, each in enumerate(exits):
                for name, (weights, bias) in _layers(each).items():
                    tensors[f"{prefix}{number}.{name}.weights"] = np.ascontiguousarray(as_features(weights))
                    tensors[f"{prefix}{number}.{name}.bias"] = np.ascontiguousarray(bias, np.float32)
        data: bytes = save(tensors)
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> ExitArtefact:
        """Read the output of ``to_bytes``; ModelError for anything else."""
        if len(data) > MOST_BYTES:
            raise ModelError(f"learned exits of {len(data)} bytes are more than the {MOST_BYTES} that are allowed")
        tensors = read_tensors(data, DAMAGED)
        try:
            card = decode(tensors.pop("card", NO_CARD).tobytes(), ArtefactCard)
        except Malformed as error:
            raise ModelError(f"{DAMAGED}: their card: {error}") from None
        prefixes, parts = _prefixes(card), [_shapes(each) for each in card.exits]
        shapes = {
            f"{prefix}{number}.{name}": shape
            for prefix in prefixes
            for number, part in enumerate(parts)
            for name, shape in part.items()
        }
        if set(tensors) != set(shapes):
            raise ModelError(f"{DAMAGED}: they have {names(tensors)}")
        for name, shape in shapes.items():
            _check(name, tensors[name], shape)
        exits, *folds = (
            tuple(_exit(f"{prefix}{n}.", each, card.vocabulary, tensors) for n, each in enumerate(card.exits))
            for prefix in prefixes
        )
        return cls(card, exits, tuple(folds))

    def tuned(self, thresholds: Sequence[float], hit_rates: Sequence[float], agreement: float) -> ExitArtefact:
        """The same exits, without those of folds, with thresholds for this agreement among their answers."""
        exits = tuple(each.at(threshold) for each, threshold in zip(self.exits, thresholds, strict=True))
        cards = tuple(ExitCard.of(each, rate) for each, rate in zip(exits, hit_rates, strict=True))
        card = msgspec.structs.replace(self.card, exits=cards, agreement=agreement, of="answers", folds=0)
        return ExitArtefact(card, exits)


def _prefixes(card: ArtefactCard) -> list[str]:
    """Those of the names of tensors: of the exits that are used, and of those of each fold."""
    return ["", *(f"fold{fold}." for fold in range(card.folds))]


def _layers(known: LearnedExit) -> dict[str, Layer]:
    return {"predictor.output": known.layer, "soft": known.soft.layer}


def _shapes(card: ExitCard) -> dict[str, tuple[int, ...]]:
    """The shape of every part of an exit, as it follows from its card; ModelError where there is none."""
    if card.values > MOST_VALUES:
        raise ModelError(f"{DAMAGED}: there is no tap of {card.grid}")
    found: dict[str, tuple[int, ...]] = {}
    for name, width in (("predictor.output", len(card.seen)), ("soft", len(card.soft))):
        found |= {f"{name}.weights": (card.values, width), f"{name}.bias": (width,)}
    return found


def _check(name: str, part: NDArray[np.generic], shape: tuple[int, ...]) -> None:
    if part.shape != shape or part.dtype not in (np.float32, np.float16) or not np.isfinite(part).all():
        raise ModelError(f"{DAMAGED}: {name} is {part.dtype} of {part.shape}")


def _exit(prefix: str, card: ExitCard, vocabulary: Vocabulary, tensors: Tensors) -> LearnedExit:
    def layer(name: str) -> Layer:
        weights, bias = tensors[f"{prefix}{name}.weights"], tensors[f"{prefix}{name}.bias"]
        return weights.astype(np.float32), bias.astype(np.float32)

    soft = SoftMap(card.soft, layer("soft"))
    return LearnedExit(card.tensor, card.grid, vocabulary, card.seen, layer("predictor.output"), soft, card.threshold)
