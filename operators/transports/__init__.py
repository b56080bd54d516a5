"""Faust's driver for Kafka. The last three files keep batches that nobody can read away from the client libraries.

Read in this order: ``waits``, ``kafka``, ``fetches``, ``record_sets``, ``polls``.
"""
