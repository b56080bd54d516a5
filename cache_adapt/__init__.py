"""May a shortcut go on answering in the oracle's place? The audit keeps measuring how far the two agree. Caches learned
inside networks will live here too; there are none yet.

Read in this order: ``audit``, ``bisection``.
"""
# A part of Sluice.
