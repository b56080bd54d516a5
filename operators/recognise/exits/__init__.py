"""Exits of a recognise node's oracle: small classifiers at cuts of the network, for one stream or for all.

Read in this order: ``cut_oracle``, ``tapped``, ``tuning``, ``heard_exits``, ``account``, ``expected``, ``specialised``,
``saved_state``, ``kinds``, ``node_exits``, ``released``.
"""
