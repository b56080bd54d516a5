"""The training of what ships, run by hand before a release: recognisers and their templates. Nothing at run time
imports it.

Read in this order: ``recipes``, ``samples``, ``collect``, ``augment``, ``networks``, ``training``,
``familiarity``, ``doubt``, ``measure``, ``train_recognisers``, ``make_templates``,
``draw_strangers``, ``colour``.
"""
