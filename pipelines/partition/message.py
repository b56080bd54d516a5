"""A message of the frames topic, as any transport delivers it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message whose content was not checked; the transport uses ``receipt`` for the acknowledgement."""

    topic: str
    partition: int
    offset: int
    timestamp_s: float
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    receipt: object = None

    @property
    def place(self) -> str:
        return f"topic {self.topic} partition {self.partition} offset {self.offset}"

    @property
    def size_bytes(self) -> int:
        """Memory that its content takes."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + headers + len(self.value or b"")
