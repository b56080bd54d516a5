"""Networks fitted to what a stream shows (Shen, 2019, ch. 5). WEG decides when to specialise to which classes, and a
tally counts what came of it. ``kit`` trains recognisers of a user's crops.

Read in this order: ``rates``, ``weg``, ``tally``, ``kit``.
"""
