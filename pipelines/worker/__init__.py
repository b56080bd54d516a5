"""A worker: the Faust app around the partitions of the frames topic, and what it publishes beside results. Faust is
set up in ``app`` and driven by ``agent`` and ``worker``; partitions know nothing of it.

Read in this order: ``worker``, ``process``, ``query_files``, ``following``, ``open_queries``, ``roster``, ``duties``,
``query_lives``, ``shared``, ``kafka_transport``, ``app``, ``agent``, ``plan_publisher``, ``state_topic``,
``bounded_store``, ``adapt``.
"""
