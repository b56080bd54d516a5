"""Why one frame was analysed as it was: finding its result among others, and saying it in words.

Read in this order: ``recorded``, ``explanation``.
"""
