"""Learned caches inside networks, and the audit that keeps measuring them."""
