"""Training anew what shortcuts have learnt, on samples of what cameras show now (Balasubramanian et al., 2021, §5.3):
which samples are kept, when it is time, and whether something new is better than what is in use.

Read in this order: ``targets``, ``window``, ``windows``, ``triggers``, ``versions``, ``updates``, ``trainer``,
``target_state``, ``jobs``, ``elsewhere``, ``here``, ``send_rate``.
"""
