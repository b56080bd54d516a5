"""Makes a recogniser of a user's crops: the features of a network that is here, with a new last layer; the block before
it is trained further where that gains. What it is worth is measured on cameras, or tracks, that it did not learn from.

Read in this order: ``crops``, ``base``, ``features``, ``head``, ``block``, ``report``,
``recogniser``.
"""
