"""Stand-ins: variants that answer in a network's place where the query names none. What the network is shown is kept
until a contest is worth its cost, the winner is opened, and the audits of streams decide where it answers.

Read in this order: ``roles``, ``payback``, ``shown``, ``contest_job``, ``stand_ins``, ``planner``.
"""
