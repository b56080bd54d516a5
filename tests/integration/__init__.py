"""Tests that talk to real brokers and cameras."""
