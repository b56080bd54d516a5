"""Parts of ``benchmarks.released`` and ``benchmarks.followed``.

Read in this order: ``learnt``.
"""
