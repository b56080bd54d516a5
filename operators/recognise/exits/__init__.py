"""Exits of a recognise node's oracle: small classifiers at cuts of the network, for one stream or for all.

Read in this order: ``cut_oracle``, ``looked``, ``heard_exits``, ``account``, ``specialised``, ``shared``,
``node_exits``, ``saved_state``.
"""
