"""The training of ``vehicle-colour``, for which no labelled pictures exist: it learns from drawn vehicles of known
paint on the grounds of real streets, seen as cameras see them.

Read in this order: ``paints``, ``lights``, ``pictures``, ``train_colour``.
"""
