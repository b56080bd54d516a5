"""The one error of a transport that its worker answers by beginning anew."""

from __future__ import annotations


class PartitionLost(Exception):
    """A partition is no longer what it was: its reader must begin anew."""
