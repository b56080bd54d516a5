"""An opened network: ONNX Runtime behind the seam that other engines will share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from serving.cards import ModelCard
from serving.catalogue import Entry, verify
from serving.errors import ModelError, SluiceError

Array = NDArray[Any]

_DTYPES = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}


class Network(Protocol):
    """What the engine needs of a network. Used by one thread at a time."""

    @property
    def batch_limit(self) -> int | None:
        """The most items of one ``run``; None: any number."""
        ...

    def check(self, batch: Array) -> None:
        """Raise ModelError where a batch has the wrong shape or type."""
        ...

    def run(self, batch: Array) -> list[Array]:
        """Outputs in the card's order, first axis as long as the batch's."""
        ...


def run_in_steps(network: Network, batch: Array, step: int) -> list[Array]:
    """Run a batch of any length, at most ``step`` items at a time, and join the pieces."""
    pieces = [network.run(batch[start : start + step]) for start in range(0, len(batch), step)]
    if len(pieces) == 1:
        return pieces[0]
    return [np.concatenate(_padded(column)) for column in zip(*pieces, strict=True)]


def _padded(pieces: Sequence[Array]) -> list[Array]:
    """Zeros appended where pieces vary in length, as they do when the graph itself suppresses overlaps."""
    longest = [max(sizes) for sizes in zip(*(piece.shape[1:] for piece in pieces), strict=True)]
    return [
        np.pad(piece, [(0, 0), *((0, most - size) for most, size in zip(longest, piece.shape[1:], strict=True))])
        for piece in pieces
    ]


class OnnxNetwork:
    """A network in an ONNX Runtime session; a graph with a fixed batch of 1 takes one item per run."""

    def __init__(self, card: ModelCard, session: ort.InferenceSession) -> None:
        self._card, self._session = card, session
        self._input = _only_input(card, session)
        self._shape = tuple(dim if isinstance(dim, int) else None for dim in self._input.shape)
        self._dtype = np.dtype(_input_dtype(card, self._input))
        self._outputs = _output_names(card, session)
        fixed = self._shape[0]
        if fixed not in (None, 1):
            raise ModelError(f"model {card.name!r}: fixed batch of {fixed}; export it with one of 1 or a dynamic one")
        self.batch_limit = 1 if fixed == 1 else card.max_batch
        self.check(np.empty((1, *_card_shape(card)), np.dtype(card.input.dtype)))

    def check(self, batch: Array) -> None:
        """Raise ModelError where shape or type is not the graph's."""
        wanted = self._shape[1:]
        fits = batch.ndim == len(self._shape) and all(
            dim in (None, size) for dim, size in zip(wanted, batch.shape[1:], strict=True)
        )
        if not fits or batch.dtype != self._dtype or not len(batch):
            shape = " × ".join(["N", *("any" if dim is None else str(dim) for dim in wanted)])
            given = " × ".join(str(size) for size in batch.shape)
            raise ModelError(
                f"model {self._card.name!r} takes {self._dtype.name} {shape}, was given {batch.dtype.name} {given}: "
                "check 'input' in its model.yaml"
            )

    def run(self, batch: Array) -> list[Array]:
        """Outputs in the card's order; SluiceError where one's first axis is not the batch's."""
        outputs: list[Array] = self._session.run(self._outputs, {self._input.name: batch})
        for name, output in zip(self._outputs, outputs, strict=True):
            if output.ndim == 0 or len(output) != len(batch):
                raise SluiceError(f"output {name!r} has shape {output.shape}")
        return outputs


def open_onnx(entry: Entry, threads: int) -> OnnxNetwork:
    """Verify and open a model with so many intra-op threads; raises ModelError."""
    verify(entry)
    try:
        session = ort.InferenceSession(str(entry.path), session_options(threads), providers=_providers())
    except Exception as error:  # ONNX Runtime's exceptions share no base but Exception
        raise ModelError(f"model {entry.card.name!r}: {entry.path} cannot be opened: {_first_line(error)}") from error
    return OnnxNetwork(entry.card, session)


def session_options(threads: int) -> ort.SessionOptions:
    """All graph optimisations (weights stored as float16 are folded to float32 once, here)."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # One session's threads must not spin while another session's work: they would take its cores.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return options


def _providers() -> list[str]:
    wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
    available = ort.get_available_providers()
    return [name for name in wanted if name in available]


def _card_shape(card: ModelCard) -> tuple[int, int, int]:
    size = card.input
    return (3, size.height, size.width) if size.layout == "nchw" else (size.height, size.width, 3)


def _only_input(card: ModelCard, session: ort.InferenceSession) -> Any:
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4:
        found = ", ".join(f"{each.name} {each.shape}" for each in inputs)
        raise ModelError(f"model {card.name!r}: must have one input, a batch of images with 4 axes; has {found}")
    return inputs[0]


def _input_dtype(card: ModelCard, graph_input: Any) -> Any:
    if graph_input.type not in _DTYPES:
        raise ModelError(f"model {card.name!r}: input is {graph_input.type}; must be float32 or uint8")
    return _DTYPES[graph_input.type]


def _output_names(card: ModelCard, session: ort.InferenceSession) -> list[str]:
    have = [output.name for output in session.get_outputs()]
    if missing := [name for name in card.outputs if name not in have]:
        raise ModelError(f"model {card.name!r}: no output {missing[0]!r} in the graph; it has {', '.join(have)}")
    return list(card.outputs) or have


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
