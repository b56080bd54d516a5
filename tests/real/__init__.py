"""Helpers that start real things: a Kafka broker, an RTSP camera."""
