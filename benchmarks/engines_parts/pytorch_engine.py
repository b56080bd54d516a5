"""PyTorch as a rival: a module on a device, at fp32 or bf16, with what makes it quick."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from serving.common.tensors import Array


class PyTorchEngine:
    """A copy of a module. On CUDA what several threads run in different engines overlaps: each has a stream."""

    def __init__(self, module: nn.Module, device: str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        self._device, self._type = torch.device(device), dtype
        self._stream: torch.cuda.Stream | None = None
        if self._device.type == "cuda":
            # By itself PyTorch would round what convolutions multiply to 10 bits. This holds for the whole process.
            torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]
            self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        # Convolutions are quicker where channels lie side by side.
        own = copy.deepcopy(module).eval().requires_grad_(False)
        self._module = own.to(self._device, dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]

    def run(self, _segment: int, batch: Array) -> list[Array]:
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
