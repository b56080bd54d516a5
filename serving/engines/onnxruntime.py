"""ONNX Runtime: the default engine, on the CPU, or on CUDA where its GPU build is installed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from serving.common.explain import first_line
from serving.common.libraries import silent
from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.engine import Engine
from serving.engines.execution_device import CPU, ON_GPU, opened, providers, runs_on_gpu, used_bytes
from serving.engines.network import interruptible
from serving.engines.optimised_cuts import cut_when_optimised
from serving.engines.session import BoundRun, SessionSegment, run_options, session_options, terminate
from serving.errors import ModelError, SluiceError

with silent():
    import onnxruntime as ort
    from onnxruntime import RunOptions

if TYPE_CHECKING:
    import onnx

    from serving.engines.gpu_segment import GpuSegment

log = logging.getLogger(__name__)


class OnnxRuntimeEngine(Engine):
    """Segments as ONNX models in ONNX Runtime sessions; int8 networks come quantised, as graphs of Q and DQ nodes."""

    def __init__(self, name: str, *, threads: int, precision: Precision = "fp32") -> None:
        if precision == "bf16":
            raise ModelError(f"model {name!r}: ONNX Runtime does not compute in bf16; OpenVINO does")
        if precision in ON_GPU and not runs_on_gpu():
            raise ModelError(f"model {name!r}: {precision} is for GPUs, and networks run on the processor here")
        super().__init__(name)
        self._threads, self._providers = threads, providers(precision)
        self._may_cut = precision == "fp32" and [name for name, _ in self._providers] == [CPU]
        self._optimised = False

    def load(self, segments: Sequence[bytes]) -> None:
        """See ``Engine``; on CPUs what is handed over between segments is in the runtime's own order."""
        if len(segments) > 1 and self._may_cut and (better := optimised_segments(segments)):
            self._optimised, segments = True, better
        super().load(segments)

    def _open(self, segment: bytes) -> SessionSegment:
        options = session_options(self._threads)
        if self._optimised:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self._providers[0][0] == CPU:
            return SessionSegment(opened(self._name, segment, options, self._providers))
        from serving.engines.gpu_segment import gpu_segment

        return gpu_segment(self._name, segment, options, self._providers)

    def used_bytes(self) -> int:
        """The GPU's where it runs networks, by whichever process they were taken."""
        on_gpu = None if self._providers[0][0] == CPU else used_bytes()
        return super().used_bytes() if on_gpu is None else on_gpu

    def _first_sizes(self) -> Sequence[int]:
        """On a GPU those that are padded to, since each takes a while the first time."""
        return self.warmed() if len(self._segments) == 1 else (1,)  # activations see to those of several segments

    def warmed(self) -> Sequence[int]:
        """Sizes of batch that are run before requests come."""
        if self._providers[0][0] == CPU or self._segments[0].input.shape[0] is not None:
            return (1,)
        from serving.engines.gpu_segment import RECORDED

        return RECORDED

    def gpu_segments(self) -> Sequence[GpuSegment]:
        """The segments, where all run on a GPU and are sized; none otherwise."""
        if self._providers[0][0] == CPU:
            return ()
        from serving.engines.gpu_segment import GpuSegment

        found = [each for each in self._segments if isinstance(each, GpuSegment) and each.is_sized]
        return found if len(found) == len(self._segments) else ()

    @contextmanager
    def one_run(self) -> Iterator[RunOptions]:
        """The options with which segments of one batch are run: another thread can end all of them by ``interrupt``."""
        options = run_options()
        with interruptible(partial(terminate, options)):
            yield options

    def bound(self, segment: int, batch: Array, outputs: Sequence[Array]) -> BoundRun:
        """Runs one segment from an array into others, in its graph's order, as often as it is called.

        All lie whole in memory and have the segment's shapes and types. A run checks and copies nothing; SluiceError
        where the network fails.
        """
        opened, what = self._segments[segment], self._what(segment, len(self._segments))
        assert isinstance(opened, SessionSegment)
        run = opened.bound(batch, outputs)

        def checked(options: RunOptions) -> None:
            try:
                run(options)
            except Exception as error:  # the runtime's exceptions share no base but Exception
                raise SluiceError(f"{what} failed: {first_line(error)}") from error

        return checked


def optimised_segments(segments: Sequence[bytes]) -> list[bytes] | None:
    """The segments cut out of the optimised whole; None where that cannot be done."""
    try:
        return cut_when_optimised(segments, _optimised, _shapes)
    except Exception as error:  # the runtime's share no base; a wrong network is reported when it is opened as it is
        log.info("segments are optimised one by one, not as a whole: %s", first_line(error))
        return None


def _optimised(model: bytes) -> bytes:
    with TemporaryDirectory(prefix="sluice-") as folder:
        options = session_options(1)
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        ort.InferenceSession(model, options, providers=[CPU])
        return Path(options.optimized_model_filepath).read_bytes()


def _shapes(model: onnx.ModelProto, tensors: Sequence[str]) -> dict[str, Sequence[int]]:
    import onnx

    declared = model.graph.output
    declared.extend(onnx.helper.make_empty_tensor_value_info(name) for name in tensors)
    graph = model.SerializeToString()
    del declared[-len(tensors) :]
    options = session_options(1)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(graph, options, providers=[CPU])
    first = SessionSegment(session)
    item = first.input.blank()
    outputs = session.run(list(tensors), {session.get_inputs()[0].name: item})
    return {name: output.shape for name, output in zip(tensors, outputs, strict=True)}
