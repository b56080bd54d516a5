"""Runtimes behind one protocol: ONNX Runtime, OpenVINO, PyTorch.

Read in this order: ``base``, ``chain``, ``network``, ``groups``, ``onnxruntime``, ``openvino``, ``pytorch``,
``optimised_cuts``, ``pooled_input``, ``exits``, ``exit_network``, ``releasing``, ``halves``, ``halved_network``,
``memory``, ``interrupt``.
"""
