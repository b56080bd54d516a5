"""A worker: the Faust app around the partitions of the frames topic, and what it publishes beside results. Faust is
set up in ``agent`` and driven by it and ``worker``; partitions know nothing of it.

Read in this order: ``worker``, ``process``, ``query_files``, ``following``, ``open_queries``, ``query_lives``,
``common``, ``agent``, ``worker_health``, ``state_topic``, ``adapt``.
"""
