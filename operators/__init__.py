"""The steps of a frame: capture, detect, track, recognise, annotate, publish; besides, the messages on the wire, the
two transports, what observers can hear, classes of others, and what tests of operators need.

Read in this order: ``base``, ``decision``, ``inference``, ``background``, ``observer``, ``extensions``, ``wire``,
``frames``, ``zones``, ``capture``, ``audits``, ``detect``, ``track``, ``recognise``, ``annotate``, ``publish``,
``transports``, ``testing``.
"""
