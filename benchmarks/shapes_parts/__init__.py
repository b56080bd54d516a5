"""Parts of ``benchmarks.shapes``: ways of running one detector, and how far what they find is the same."""
