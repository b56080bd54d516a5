"""Networks as resources. The backend runs every network of a process: it finds them in the catalogue, loads them within
the memory allowed, batches requests under deadlines, and runs them in an engine.

Read in this order: ``errors``, ``backend``, ``preprocess``, ``catalogue``, ``engines``, ``scheduling``, ``loading``,
``variants``, ``selection``, ``placement``, ``autoscale``, ``profiling``, ``budgets``, ``graphs``, ``common``,
``remote``.
"""
