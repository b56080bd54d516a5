"""Events and states to other systems: sinks, MQTT brokers and webhooks, are told what happened, of topics or of this
process. Over topics each sink reads for itself, so that one that is away delays no other, and the topic is its queue.

Read in this order: ``sinks_file``, ``sink``, ``in_order``, ``delivery``, ``webhook``, ``mqtt_topics``,
``mqtt_connection``, ``mqtt_sink``, ``opening``, ``direct``, ``frame_finder``, ``reader``, ``forwarder``.
"""
