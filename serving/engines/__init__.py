"""Runtimes behind one protocol: ONNX Runtime, OpenVINO, PyTorch."""
