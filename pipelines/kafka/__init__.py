"""The broker: its addresses and clients, the topics of an installation, rights, and reading topics outside a group.
Decisions (``topics``, ``verdict``) are pure; the other files talk to Kafka.

Read in this order: ``options``, ``topics``, ``topic_admin``, ``verdict``, ``rights``, ``sync_clients``,
``async_clients``, ``topic_reader``, ``follow``, ``results``, ``letter_topic``.
"""
