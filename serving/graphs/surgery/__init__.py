"""Networks changed so that they say the same for less work: other widths and heights, one convolution in place of
slices, pools in a row. Each is found by its pattern; ``serving.loading.proofs`` finds whether the numbers are the same.

Read in this order: ``parts``, ``layers``, ``sizes``, ``reshape``, ``covered``.
"""
