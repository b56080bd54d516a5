"""Answers per track: the looks at an object are pooled to one answer, and a rule says when another look is due. All
files but the last are pure; that one connects them to frames and to a recogniser.

Read in this order: ``look_rule``, ``pool``, ``sight``, ``tracked_object``, ``answer``, ``run_objects``, ``objects``.
"""
