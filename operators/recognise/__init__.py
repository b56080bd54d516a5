"""Recognisers: what is this object, and who. A recogniser asks its oracle, or shortcuts that answer more cheaply and
are audited: variants of the oracle, and exits inside it.

Read in this order: ``recogniser``, ``remote_reference``, ``own``, ``classifier``, ``identities``, ``enrolment``,
``portraits``, ``gallery``, ``gallery_check``, ``objects``, ``whole_frame``, ``variants``, ``audits``, ``exits``,
``looks``, ``chain``.
"""
