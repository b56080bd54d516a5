"""Messages on the wire and their bounds. Every reader of a topic decodes by these kinds and no other.

Read in this order: ``schema`` (the front door to all messages), ``frame_message``, ``corners``, ``result``,
``stream_plan``, ``events``, ``adaptation``, ``fleet``, ``jobs``, ``bounds``, ``mishaps``.
"""
