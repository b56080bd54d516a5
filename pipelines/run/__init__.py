"""``sluice run`` and the capture side of ``sluice capture``: the streams of a query, captured in threads, and the run
that analyses them in this process.

Read in this order: ``given``, ``run_query``, ``audience``, ``outputs``, ``capture_specs``, ``source_trial``,
``captures``, ``capture_all``, ``embedded``, ``feed``, ``credits``, ``event_log``, ``progress``, ``state_lines``,
``first_look``, ``replay``.
"""
