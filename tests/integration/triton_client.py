"""Run by an environment that has ``tritonclient`` and nothing of ours: asks a server, and prints what it has said.

Arguments: the addresses for gRPC and for HTTP, a classifier, a detector, and a file with a picture of each (NPZ).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils.shared_memory as shared

GRPC, HTTP, CLASSIFIER, DETECTOR, PICTURES = sys.argv[1:]


def asked(kind: Any, client: Any, model: str, batch: Any) -> dict[str, Any]:
    """The outputs of a model, by name."""
    given = kind.InferInput("images", list(batch.shape), "UINT8")
    given.set_data_from_numpy(batch)
    answer = client.infer(model, [given], request_id="7")
    described = client.get_model_metadata(model)
    outputs = described["outputs"] if isinstance(described, dict) else described.outputs
    names = [each["name"] if isinstance(each, dict) else each.name for each in outputs]
    return {name: answer.as_numpy(name).tolist() for name in names}


def by_memory(client: Any, model: str, batch: Any) -> list[Any]:
    """The first output of a model, with the batch in shared memory."""
    region = shared.create_shared_memory_region("mine", "/sluice-of-triton", batch.nbytes)
    try:
        shared.set_shared_memory_region(region, [batch])
        client.register_system_shared_memory("mine", "/sluice-of-triton", batch.nbytes)
        given = tritonclient.grpc.InferInput("images", list(batch.shape), "UINT8")
        given.set_shared_memory("mine", batch.nbytes)
        answer = client.infer(model, [given])
        client.unregister_system_shared_memory("mine")
        name = client.get_model_metadata(model).outputs[0].name
        return list(answer.as_numpy(name).tolist())
    finally:
        shared.destroy_shared_memory_region(region)


def refused(ask: Any) -> str:
    """The message of the error that a call ends with."""
    try:
        ask()
    except tritonclient.utils.InferenceServerException as error:
        return str(error.message())
    return ""


pictures = np.load(PICTURES)
found: dict[str, Any] = {}
with tritonclient.grpc.InferenceServerClient(GRPC) as grpc:
    found["grpc"] = {
        "ready": [grpc.is_server_live(), grpc.is_server_ready(), grpc.is_model_ready(CLASSIFIER)],
        "classifier": asked(tritonclient.grpc, grpc, CLASSIFIER, pictures["classifier"]),
        "detector": asked(tritonclient.grpc, grpc, DETECTOR, pictures["detector"]),
        "memory": by_memory(grpc, CLASSIFIER, pictures["classifier"]),
        "config": grpc.get_model_config(DETECTOR).config.max_batch_size,
        "count": grpc.get_inference_statistics(CLASSIFIER).model_stats[0].inference_count,
        "index": [each.name for each in grpc.get_model_repository_index().models],
        "refused": refused(lambda: asked(tritonclient.grpc, grpc, CLASSIFIER, pictures["detector"])),
    }
    grpc.unload_model(CLASSIFIER)
    grpc.load_model(CLASSIFIER)
with tritonclient.http.InferenceServerClient(HTTP) as http:
    found["http"] = {
        "ready": [http.is_server_live(), http.is_server_ready(), http.is_model_ready(CLASSIFIER)],
        "classifier": asked(tritonclient.http, http, CLASSIFIER, pictures["classifier"]),
        "detector": asked(tritonclient.http, http, DETECTOR, pictures["detector"]),
        "name": http.get_server_metadata()["name"],
        "index": [each["name"] for each in http.get_model_repository_index()],
        "refused": refused(lambda: asked(tritonclient.http, http, CLASSIFIER, pictures["detector"])),
    }
print(json.dumps(found))
