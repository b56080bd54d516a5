"""Faust's driver for Kafka. The last three files keep batches that nobody can read away from the client libraries.

Read in this order: ``faust_import``, ``waits``, ``kafka``, ``partition_lost``, ``fetch_state``, ``record_sets``,
``fetches``, ``polls``.
"""
