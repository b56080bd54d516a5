"""Offline jobs: recordings analysed as a whole, every frame once, also where the process is killed in between.

What is written is all that is remembered: the work on a recording goes on where its durable results end.

Read in this order: ``identity``, ``output``, ``json_output``,
``parquet_output``, ``recording``, ``job_report``, ``local``; at workers ``chunks``,
``submitting``, ``job_query``, ``pending``, ``chunk_taker``, ``live_load``, ``job_worker``.
"""
