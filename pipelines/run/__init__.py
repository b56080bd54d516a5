"""``sluice run`` and the capture side of ``sluice capture``: the streams of a query, captured in threads, and the run
that analyses them in this process.

Read in this order: ``given``, ``overwriting``, ``run_query``, ``audience``, ``outputs``, ``capture_specs``,
``captures``, ``embedded``, ``feed``, ``progress``, ``first_look``, ``replay``, ``learn``,
``jobs``.
"""
