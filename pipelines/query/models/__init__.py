"""The models that the nodes of a query name: whether they fit, which cards they have, and which are listed for a node
that names none.

Read in this order: ``model_cards``, ``model_less``, ``model_check``.
"""
