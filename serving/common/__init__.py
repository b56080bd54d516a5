"""Small things that every package may use: clocks, files, threads, child processes, what is tried again, what can be
heard of networks, and the one way in for hostile bytes.

Read in this order: ``clock``, ``fake_clock``, ``tensors``, ``softmax``, ``precision``, ``files``, ``versions``,
``cores``, ``threads``, ``backoff``, ``retrying``, ``processes``, ``untrusted``, ``printable``, ``redaction``,
``strict``, ``explain``, ``engine_observer``.
"""
