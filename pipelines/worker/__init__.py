"""A worker: the Faust app around the partitions of the frames topic, and what it publishes beside results. Only ``app``
and ``agent`` know Faust.

Read in this order: ``worker``, ``process``, ``transport``,
``local_transport``, ``kafka_transport``, ``app``, ``agent``, ``plan_publisher``, ``state_topic``, ``bounded_store``,
``adapt``.
"""
