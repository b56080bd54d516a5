"""Exits of a recognise node's oracle: small classifiers at cuts of the network, for one stream or for all. Where the
oracle is on another machine, they lie in a network of this one, which lends its cuts.

Read in this order: ``cut_oracle``, ``held_looks``, ``tuning``, ``heard_exits``, ``account``, ``figures``, ``expected``,
``specialised``, ``saved_state``, ``kinds``, ``node_exits``, ``lent_cuts``, ``lent_looks``.
"""
