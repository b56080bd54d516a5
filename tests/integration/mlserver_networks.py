"""Run by MLServer, in an environment that has nothing of ours: ONNX networks as models of the protocol."""

from __future__ import annotations

import numpy as np
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class OnnxNetwork(MLModel):
    """The network of the model's ``uri``; tensors are called as its graph calls them."""

    async def load(self) -> bool:
        """Open it."""
        self._session = onnxruntime.InferenceSession(self.settings.parameters.uri, providers=["CPUExecutionProvider"])
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Run it on one input; all outputs, or those that are asked for."""
        (given,) = payload.inputs
        wanted = [output.name for output in payload.outputs or ()] or None
        found = self._session.run(wanted, {given.name: NumpyCodec.decode_input(given).astype(np.float32)})
        names = wanted or [output.name for output in self._session.get_outputs()]
        outputs = [NumpyCodec.encode_output(name, array) for name, array in zip(names, found, strict=True)]
        return InferenceResponse(model_name=self.name, outputs=outputs)
