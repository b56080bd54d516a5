"""What everything that learns while it runs shares: samples, features in files, a regression, a threshold, a test for
change, and jobs in a child process. Specialization uses it today.

Read in this order: ``ring``, ``array_files``, ``store``, ``softmax_regression``, ``confidence_threshold``, ``cusum``,
``job_runner``, ``job_child``.
"""
# A part of Sluice.
