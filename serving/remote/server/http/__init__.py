"""The same calls over HTTP, where the protocol has them: tensors as JSON or as bytes behind it.

Read in this order: ``json_messages``, ``plain_messages``, ``http_inference``, ``http_routes``.
"""
