"""A network of the backend as the protocol describes it: tensors, versions, cards. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from serving.catalogue.cards import ModelCard
from serving.common.tensors import TensorSpec
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.tensors import datatype
from serving.remote.protocol.wire_card import INPUT, PLATFORM, put_card
from serving.remote.server.refusals import NotServed

MOST_ITEMS = 1024
"""Pictures of a request, as configurations announce it; there may be more, as far as a message goes."""


@dataclass(frozen=True, slots=True)
class NetworkDescription:
    name: str
    card: ModelCard
    """As in the catalogue, with the input of the variant."""
    outputs: Mapping[str, TensorSpec]
    """As they travel, in the card's order."""

    @property
    def input(self) -> TensorSpec:
        """Pictures as bytes, of the card's size; a detector takes other ones too."""
        size = self.card.input
        return TensorSpec(np.dtype(np.uint8), (None, size.height, size.width, 3))

    def check_version(self, version: str) -> None:
        """Raise NotServed for a version that is asked for and not there."""
        if version not in ("", self.card.version):
            raise NotServed(f"{self.name} is served in version {self.card.version}, not {version[:40]!r}")

    def metadata(self) -> pb.ModelMetadataResponse:
        """See ModelMetadata of the protocol."""
        said = pb.ModelMetadataResponse(name=self.name, versions=[self.card.version], platform=PLATFORM)
        for tensors, specs in ((said.inputs, {INPUT: self.input}), (said.outputs, self.outputs)):
            for name, spec in specs.items():
                tensors.add(name=name, datatype=datatype(spec.dtype), shape=[-1, *_dims(spec)])
        return said

    def config(self) -> pb.ModelConfig:
        """See ModelConfig of the protocol; its parameters have the card."""
        found = pb.ModelConfig(name=self.name, platform=PLATFORM, backend=PLATFORM, max_batch_size=MOST_ITEMS)
        for tensors, specs in ((found.input, {INPUT: self.input}), (found.output, self.outputs)):
            for name, spec in specs.items():
                kind = pb.DataType.Value(f"TYPE_{datatype(spec.dtype)}")
                tensors.add(name=name, data_type=kind, dims=_dims(spec) or [1])
        put_card(found, self.card)
        return found


def _dims(spec: TensorSpec) -> list[int]:
    """Without the batch; −1 for any size."""
    return [-1 if dim is None else dim for dim in spec.shape[1:]]
