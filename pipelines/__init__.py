"""The application: from a query file to running processes. Here lie the ``sluice`` command, the query language, the
executor that walks a query's nodes for each frame, the run in one process, and the worker behind Kafka.

Read in this order: ``cli``, ``settings``, ``environment``, ``query``, ``planning``, ``execute``, ``assembly``,
``partition``, ``worker``, ``schedule``, ``run``, ``commands``, ``report``, ``health``, ``observe``, ``kafka``,
``measure``, ``process``.
"""
