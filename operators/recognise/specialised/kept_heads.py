"""The trained heads of one stream, by their numbers in WEG."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from operators.recognise.specialised.makers import Trained
from serving.errors import ModelError
from specialization.heads.head import SpecialisedHead

log = logging.getLogger(__name__)


class KeptHeads:
    """Heads and their versions: above 0 where they came from elsewhere."""

    def __init__(self, name: str) -> None:
        """``name``: for log lines."""
        self._name = name
        self._trained: dict[int, Trained] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._trained

    def __getitem__(self, number: int) -> SpecialisedHead:
        return self._trained[number].head

    def put(self, number: int, trained: Trained) -> None:
        self._trained[number] = trained

    def version(self, number: int) -> int:
        """The version of a head; 0 where it was trained here, or is not there."""
        return self._trained[number].version if number in self._trained else 0

    def versions(self) -> dict[int, int]:
        """The versions of those that came from elsewhere."""
        return {number: trained.version for number, trained in self._trained.items() if trained.version}

    def leave_only(self, numbers: Collection[int]) -> None:
        """Drop all others."""
        self._trained = {number: trained for number, trained in self._trained.items() if number in numbers}

    def to_bytes(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """The heads with these numbers, as ``SpecialisedHead.to_bytes`` writes them."""
        return {number: self[number].to_bytes() for number in numbers}

    def restore(self, written: Mapping[int, bytes], versions: Mapping[int, int]) -> None:
        """Keep what was written in place of all there is; damaged heads are logged and left out."""
        self._trained = {}
        for number, data in written.items():
            try:
                self.put(number, Trained(SpecialisedHead.from_bytes(data), versions.get(number, 0)))
            except ModelError as error:
                log.warning("%s: %s; it is trained anew when it is wanted", self._name, error)
