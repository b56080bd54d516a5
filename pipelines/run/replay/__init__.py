"""``sluice replay``: the frames of a recording go through a query again, and what is found is compared with what was.

Read in this order: ``match``, ``comparison``, ``past``, ``replaying``, ``words``, ``pictures``.
"""
