"""Parts of the benchmarks of learned exits: pictures that went through a network with cuts.

Read in this order: ``taps``, ``cifar``, ``learnt``, ``recorded``, ``shadow``.
"""
