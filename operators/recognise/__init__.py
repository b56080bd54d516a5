"""Recognisers: what is this object, and who."""
