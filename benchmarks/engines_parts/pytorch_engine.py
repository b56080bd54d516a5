"""PyTorch: networks that are modules, above all on CUDA, where every segment has a stream of its own."""

from __future__ import annotations

import copy
import gc
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from serving.common.precision import Precision
from serving.common.tensors import Array, TensorSpec
from serving.engines.chain import SegmentChain
from serving.engines.memory import give_back
from serving.errors import ModelError


class PyTorchEngine(SegmentChain[nn.Module]):
    """Segments as modules, which are copied: the ones given are not moved, nor is their mode changed.

    ``item`` is the shape of one item of the first segment's input, which is float32. On CUDA, what several threads
    run in different segments, such as the heads behind one cut, overlaps; memory is the device's.
    """

    def __init__(self, name: str, *, item: Sequence[int], device: str = "cpu", precision: Precision = "fp32") -> None:
        if precision == "int8":
            raise ModelError(f"model {name!r}: PyTorch computes in fp32 or bf16; int8 needs another engine")
        super().__init__(name)
        try:
            self._device = torch.device(device)
        except RuntimeError as error:
            raise ModelError(f"model {name!r}: no such device for PyTorch: {device!r}") from error
        self._type = torch.bfloat16 if precision == "bf16" else torch.float32
        self._next = tuple(item)
        if self._device.type == "cuda":
            # By itself PyTorch would round what convolutions multiply to 10 bits. This holds for the whole process.
            torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]

    def _open(self, segment: nn.Module) -> PyTorchSegment:
        opened = PyTorchSegment(segment, self._device, self._type, self._next)
        self._next = opened.run(np.zeros((1, *self._next), np.float32))[0].shape[1:]
        return opened

    def _weights_bytes(self, segment: nn.Module) -> int:
        return sum(weights.nbytes for weights in chain(segment.parameters(), segment.buffers()))

    def _used_bytes(self) -> int:
        return torch.cuda.memory_allocated(self._device) if self._device.type == "cuda" else super()._used_bytes()

    def close(self) -> None:
        """Give the memory back, the device's too."""
        super().close()
        # Traced modules refer to themselves in circles.
        gc.collect()
        give_back()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()


class PyTorchSegment:
    """A module on its device; runs on CUDA queue up in one stream and wait for no other."""

    def __init__(self, module: nn.Module, device: torch.device, dtype: torch.dtype, item: Sequence[int]) -> None:
        self.input = TensorSpec(np.dtype(np.float32), (None, *item))
        self._device, self._type = device, dtype
        # Convolutions are quicker where channels lie side by side.
        own = copy.deepcopy(module).eval().requires_grad_(False)
        self._module = own.to(device, dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def run(self, batch: Array) -> list[Array]:
        """Outputs as float32 where they are floating-point numbers."""
        with torch.inference_mode(), self._on_stream():
            # A copy: a module may begin with an operation in place.
            given = torch.tensor(batch, device=self._device).to(self._type)
            if given.ndim == 4:
                given = given.contiguous(memory_format=torch.channels_last)
            found = self._module(given)
            outputs = [found] if isinstance(found, Tensor) else list(found)
            # The way to the host waits for this stream alone.
            return [_array(output) for output in outputs]

    def _on_stream(self) -> AbstractContextManager[object]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)


def _array(output: Tensor) -> Array:
    array: Array = (output.float() if output.is_floating_point() else output).contiguous().cpu().numpy()
    return array
