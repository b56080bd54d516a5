"""Networks on other machines: calls in the Open Inference Protocol, which is imported only where one is named.

Read in this order: ``protocol``.
"""
