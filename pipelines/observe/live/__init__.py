"""The live page: what it shows of streams, the pictures that are made while somebody looks, and who is looking.

Read in this order: ``who``, ``words``, ``sightings``, ``stream_figures``, ``variants``, ``views``, ``board``,
``viewers``, ``pictures``, ``page``, ``files``, ``pairs``, ``broker_feed``.
"""
