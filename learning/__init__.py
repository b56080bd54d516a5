"""The common part of everything that learns while it runs: samples, features in files, a regression, a threshold, a
temperature, a test for change, a distribution's tails, jobs in a child process, and what all of this may cost. Heads,
learned caches and their audits are built on it.

Read in this order: ``budget``, ``purse``, ``account``, ``retry_gap``, ``ring``, ``array_files``, ``store``,
``softmax_regression``, ``ridge``, ``confidence_threshold``, ``calibration``, ``cusum``, ``binomial``, ``job_runner``,
``job_child``.
"""
