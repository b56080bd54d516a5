"""The live page: what it shows of streams, the pictures that are made while somebody looks, and who is looking.

Read in this order: ``words``, ``sightings``, ``stream_figures``, ``views``, ``board``, ``viewers``, ``pictures``,
``page``, ``pairs``, ``broker_feed``.
"""
