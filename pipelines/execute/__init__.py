"""One frame through the nodes of a query. The executor gives each stream a lane, decides what is dropped, counts
deadlines, and makes exactly one result of every frame.

Read in this order: ``executor``, ``surroundings``, ``lane``, ``overload``, ``walk``, ``beside``, ``plan_echo``,
``stopwatch``, ``fresh_starts``, ``ahead``, ``moments``, ``frame_room``, ``objects``.
"""
