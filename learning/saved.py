"""Numbers of state that comes back from elsewhere: whatever lies outside of them is refused, and begins anew. Pure."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=1 << 40)]
"""Things that were counted: as many as a thousand in a second for thirty years."""
Amount = Annotated[float, Meta(ge=0, le=1e12)]
"""A sum of seconds, or of evidence."""
Share = Annotated[float, Meta(ge=0, le=1)]
