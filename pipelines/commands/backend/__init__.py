"""`sluice backend`: a process that serves networks to others: where it listens and whom it lets in, what is counted,
how it starts and how it ends; and `sluice schedule`, which says what backends serve.

Read in this order: ``doors``, ``page``, ``process``, ``backend``, ``schedule``.
"""
