"""Answers per track: the looks at an object are pooled to one answer, and a rule says when another look is due; of
whole frames the scene is the object. ``objects`` and ``scenes`` connect that to frames and to a recogniser,
``late_looks`` to one whose answers come later, all else is pure.

Read in this order: ``look_rule``, ``pool``, ``sight``, ``tracked_object``, ``run_objects``, ``objects``,
``scene``, ``scenes``, ``late_looks``.
"""
