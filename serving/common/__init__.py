"""Small things that every package may use: clocks, files, threads, child processes, what is tried again, what can be
heard of networks, and the ways in for hostile bytes and for safetensors.

Read in this order: ``clock``, ``tensors``, ``precision``, ``files``, ``threads``, ``retrying``,
``template``, ``child_process``, ``untrusted``, ``child_job``, ``weights``, ``redaction``,
``explain``, ``engine_observer``, ``wire_use``, ``libraries``.
"""
