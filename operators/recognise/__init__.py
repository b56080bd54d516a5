"""Recognisers: what is this object, and who. A recogniser asks its oracle, or a chain of shortcuts that answer more
cheaply and are audited.

Read in this order: ``recogniser``, ``classifier``, ``gallery``, ``identities``, ``enrolment``, ``whole_frame``,
``roles``, ``account``, ``chain``, ``objects``, ``shortcuts``, ``specialised``.
"""
