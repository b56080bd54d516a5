"""Variants: the ways in which one registered network can be run, their files, and what was measured of them here.

Read in this order: ``variant``, ``artefacts``, ``profiles``, ``timings``, ``contest``.
"""
