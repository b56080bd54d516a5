"""The sink that is an MQTT broker: topics of streams, what Home Assistant is told, connections, and what is published.

Read in this order: ``topics``, ``home_assistant``, ``connection``, ``mqtt_sink``.
"""
