"""Events and states to other systems: reads their topics and tells sinks, MQTT brokers and webhooks, what happened.
Each sink reads for itself, so that one that is away delays no other, and the topic is its queue. ``sluice run`` tells
sinks directly.

Read in this order: ``sinks_file``, ``filters``, ``notices``, ``sink``, ``offsets``, ``attempts``,
``delivery``, ``snapshots``, ``frame_finder``, ``signature``, ``webhook``, ``mqtt``,
``opening``, ``reader``, ``forwarder``, ``direct``.
"""
