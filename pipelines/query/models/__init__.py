"""The models that the nodes of a query name: whether they fit, which cards they have, on which backends they are, and
which are listed for a node that names none.

Read in this order: ``remote_models``, ``model_less``, ``model_check``.
"""
