"""Models on disk: cards, the folders they are found in, and the public models that can be pulled.

Read in this order: ``cards``, ``decodings``, ``lookup``, ``public``, ``pull``.
"""
