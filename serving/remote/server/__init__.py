"""A backend for other machines: the calls of the Open Inference Protocol over one ``Backend``, with its scheduler, its
memory and its watch on networks that do not return, for all clients that ask.

Read in this order: ``refusals``, ``admission``, ``box_outputs``, ``network_description``, ``served_networks``,
``registered_regions``, ``inferences``, ``inference_service``, ``grpc_server``, ``json_messages``, ``http_routes``.
"""
