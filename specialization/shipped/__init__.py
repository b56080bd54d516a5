"""The training of what ships, run by hand before a release: recognisers and their templates. Nothing at run time
imports it.

Read in this order: ``darknet``, ``recipes``, ``samples``, ``collect``, ``augment``, ``networks``, ``training``,
``tuning``, ``measure``, ``train_recognisers``, ``familiarity``, ``make_templates``,
``draw_strangers``, ``colour``.
"""
