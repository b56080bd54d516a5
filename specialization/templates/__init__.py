"""Templates: compact networks that heads can be trained for, each made for one oracle. The data folder ``shipped``
holds those that come with Sluice.

Read in this order: ``stored``, ``prospects``, ``feature_network``, ``derive``, ``fill``, ``cost``,
``strangers``.
"""
