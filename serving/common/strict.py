"""The base of what people write in files: query, topics, model cards."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Immutable, and refuses keys it does not know. Its validator is built when the first file is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
