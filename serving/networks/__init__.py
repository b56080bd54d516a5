"""Networks: architectures in PyTorch, their dataflow, cut points and segments, and the way to ONNX."""
