"""The parts of ``benchmarks.remote_reference``: ``far_run`` is a run whose reference is on another machine."""
