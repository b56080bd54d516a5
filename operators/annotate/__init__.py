"""Annotated video or snapshots: what results say, drawn onto the pictures they speak of.

Read in this order: ``target``, ``annotator``, ``drawing``, ``style``, ``outlines``.
"""
