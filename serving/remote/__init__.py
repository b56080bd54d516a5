"""Networks on other machines: calls in the Open Inference Protocol, and vision models behind endpoints of chat
completions; either is imported only where a model of it is named.

Read in this order: ``peers``, ``session_meter``, ``http_client``, ``protocol``, ``server``, ``breaker``, ``client``,
``endpoint``, ``place_choice``, ``router``.
"""

from serving.common.libraries import hush_grpc

hush_grpc()
