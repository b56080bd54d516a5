"""The query file: its keys, its filters, its graph of nodes, and everything that can be wrong with it, said in one go.

Read in this order: ``query_file``, ``secret_places``, ``elsewhere``, ``nodes``, ``budgets``, ``needs``, ``points``,
``zones``, ``yaml_file``, ``filters``, ``filter_parser``, ``lineage``, ``dag``, ``look_ahead``,
``models``, ``draft``, ``check``, ``proposal``.
"""
