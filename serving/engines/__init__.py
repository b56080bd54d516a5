"""Runtimes behind one protocol, which opens networks and runs them: ONNX Runtime, OpenVINO.

Read in this order: ``network``, ``engine``, ``groups``, ``gpu_driver``, ``execution_device``, ``session``,
``gpu_segment``, ``onnxruntime``, ``openvino``, ``optimised_cuts``, ``exits``, ``row_passage``,
``gpu_activations``, ``exit_network``.
"""
