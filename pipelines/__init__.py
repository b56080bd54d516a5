"""What to run: query files, the per-frame executor, application assembly and the ``sluice`` command."""
