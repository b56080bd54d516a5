"""The keys of a query for networks that other machines run: vision models behind endpoints, and backends.

Read in this order: ``endpoints``, ``backends``.
"""
