"""Counts of what was asked of each network, as the protocol tells them."""

from __future__ import annotations

from dataclasses import dataclass

from serving.remote.protocol import inference_pb2 as pb


@dataclass(slots=True)
class NetworkCounts:
    """Those of one network since the backend was started."""

    answered: int = 0
    items: int = 0
    """Pictures of answered requests."""
    answered_s: float = 0.0
    """Seconds from the arrival of requests to their answers, all together."""
    failed: int = 0
    failed_s: float = 0.0
    last_ms: int = 0
    """When a request was answered last, in milliseconds since 1970."""

    def told(self, name: str, version: str) -> pb.ModelStatistics:
        """As a message of the protocol."""
        success = pb.StatisticDuration(count=self.answered, ns=int(self.answered_s * 1e9))
        fail = pb.StatisticDuration(count=self.failed, ns=int(self.failed_s * 1e9))
        return pb.ModelStatistics(
            name=name,
            version=version,
            last_inference=self.last_ms,
            inference_count=self.items,
            execution_count=self.answered,
            inference_stats=pb.InferStatistics(success=success, fail=fail),
        )
