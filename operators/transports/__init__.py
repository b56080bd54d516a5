"""The two ways frames and results travel: ``local://`` in one process, ``kafka://`` between processes. The files from
``inflate`` to ``fetches`` keep records that nobody can read away from the client library.

Read in this order: ``faust_import``, ``window``, ``log``, ``local_broker``, ``local``, ``waits``, ``kafka``,
``partition_lost``, ``fetch_state``, ``fetch_log``, ``inflate``, ``batch_records``, ``record_sets``, ``unreadable_log``,
``fetches``, ``polls``.
"""
