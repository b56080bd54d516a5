"""One frame through the nodes of a query. The executor gives each stream a lane, decides what is dropped, counts
deadlines, and makes exactly one result of every frame.

Read in this order: ``executor``, ``surroundings``, ``lane``, ``overload``, ``ahead``, ``moments``, ``arrival_clock``,
``frame_room``, ``byte_budget``, ``objects``, ``plan_echo``, ``fresh_starts``.
"""
