"""The two ways frames and results travel: ``local://`` in one process, ``kafka://`` between processes. The last
three files keep batches that nobody can read away from the client libraries.

Read in this order: ``faust_import``, ``window``, ``log``, ``local_broker``, ``local``, ``waits``, ``kafka``,
``partition_lost``, ``fetch_state``, ``record_sets``, ``fetches``, ``polls``.
"""
