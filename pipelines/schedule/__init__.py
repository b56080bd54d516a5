"""A fleet of workers and backends, and who serves what in it: what processes tell, how they obey, and the scheduler.

Read in this order: ``load_report``, ``fleet_link``, ``worker_side``,
``backend_side``, ``fleet_view``, ``steady``, ``epochs``, ``election``, ``service``, ``numbers``,
``machines``, ``cheapest_models``, ``paper_fleet``.
"""
