"""Parts of the benchmarks of learned exits: CIFAR-10 pictures that went through a network with cuts.

Read in this order: ``taps``, ``cifar``.
"""
