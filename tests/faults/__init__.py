"""Tests that kill, stop and cut: real processes of the ``sluice`` command, a real broker, a real camera."""
