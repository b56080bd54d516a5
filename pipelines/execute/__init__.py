"""One frame through the nodes of a query. The executor takes it through its stream's lane, decides what is dropped,
counts deadlines, and makes exactly one result of every frame. Executors of several queries share lanes, and may share
nodes.

Read in this order: ``executor``, ``surroundings``, ``lanes``, ``lane``, ``overload``, ``walk``, ``frame_answers``,
``stopwatch``, ``ahead``, ``moments``, ``frame_room``, ``objects``.
"""
