"""Runtimes behind one protocol, which opens networks and runs them: ONNX Runtime, OpenVINO.

Read in this order: ``network``, ``chain``, ``groups``, ``execution_device``, ``onnxruntime``, ``openvino``,
``optimised_cuts``, ``exits``, ``row_passage``, ``exit_network``.
"""
