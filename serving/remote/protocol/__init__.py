"""The Open Inference Protocol on the wire: its messages and calls, tensors to and from bytes, and shared memory. What
comes from another machine is decoded here, strictly and within bounds.

``inference_pb2`` is generated from ``inference.proto`` by ``make stubs``.

Read in this order: ``inference_pb2``, ``service``, ``parameters``, ``asked``,
``membership``, ``tensors``, ``wire_card``, ``region_file``, ``owned_region``.
"""
