"""Evidence on disk: the frames and results around events, and what audits found shortcuts to get wrong. Kept within a
number of bytes, in plain formats that ``sluice replay`` and people read.

Read in this order: ``layout``, ``window``, ``folder``, ``reading``, ``recorder``, ``crops``.
"""
