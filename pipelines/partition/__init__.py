"""One partition of the frames topic in a worker: a message becomes a result, a dead letter, or both; it is published
and then acknowledged. What a worker knows of streams, and which frames are answered already, lies here too. Nothing in
this room knows Faust.

Read in this order: ``message``, ``partition``, ``shared_parts``, ``duties``, ``queries``, ``query_window``, ``window``,
``sampling``, ``answer``, ``resume``, ``open_streams``, ``dispatch``, ``dead_letters``,
``publisher``, ``tally``.
"""
