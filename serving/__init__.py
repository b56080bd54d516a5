"""Networks as resources: the catalogue of models, preprocessing, and the inference engine."""

import os

# ONNX Runtime writes a device id and reports its use to its makers, unless this is set before it is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
