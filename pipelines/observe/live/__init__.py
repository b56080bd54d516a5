"""The live page: what it shows of streams, the pictures that are made while there are viewers, and the viewers.

Read in this order: ``words``, ``sightings``, ``stream_figures``, ``views``, ``cards``, ``board``, ``viewers``,
``pictures``, ``page``, ``broker_feed``.
"""
