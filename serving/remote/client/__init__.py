"""The side of networks on other machines that asks: channels to the servers of one backend, the choice among them, what
becomes of calls that fail, and the cards and calls of remote models.

Read in this order: ``address``, ``remote_model``, ``pick``, ``server_channel``, ``servers``,
``calls``, ``region_ring``, ``inference_call``, ``call_times``, ``backend_client``.
"""
