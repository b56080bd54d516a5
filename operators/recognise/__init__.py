"""Recognisers: what is this object, and who. A recogniser asks its oracle, or a chain of shortcuts that answer more
cheaply and are audited.

Read in this order: ``recogniser``, ``own``, ``labels``, ``classifier``, ``identities``, ``enrolment``, ``portraits``,
``gallery``, ``gallery_check``, ``whole_frame``, ``account``, ``terms``, ``chain``, ``objects``, ``shortcuts``,
``audits``, ``specialised``, ``cached``.
"""
