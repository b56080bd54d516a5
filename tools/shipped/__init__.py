"""The training of what ships, run by hand before a release: recognisers.

Read in this order: ``classifier``, ``lite``, ``darknet``, ``recipes``, ``samples``, ``collect``, ``augment``,
``networks``, ``training``, ``tuning``, ``measure``, ``train_recognisers``, ``colour``.
"""
