"""The paper's forms of caches on whole activations of a ResNet-18, and what they are compared with.

Read in this order: ``blocks``, ``forms``, ``caches``, ``distance``, ``composed``, ``adapted``.
"""
