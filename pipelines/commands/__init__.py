"""One module per subcommand of ``sluice``. Each exports ``command`` and is imported only when it is asked for.

Read in this order: ``options``, ``init``, ``check``, ``run``, ``capture``, ``worker``, ``adapt``, ``backend``,
``watch``, ``recorded``, ``serve``, ``forward``, ``topics``, ``health``, ``dlq``, ``demo``, ``models``, ``doctor``.
"""
