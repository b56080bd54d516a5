"""Objects of real clips, labelled by eye, and what recognisers make of them.

Read in this order: ``looks``, ``sheets``, ``calibration``, ``views``, ``cameras``, ``lite2``, ``frozen``, ``dear``.
"""
