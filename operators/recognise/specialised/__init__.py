"""The shortcut that specialises to what a stream shows (Shen, 2019, ch. 5): a small head answers for the stream's usual
classes.

Read in this order: ``heads``, ``head_stream``, ``cascade``, ``cascade_state``, ``kept_heads``, ``earnings``,
``head_seen``, ``head_supply``, ``head_prices``, ``makers``, ``made_elsewhere``, ``head_specs``, ``head_kinds``,
``own_samples``, ``early_cuts``, ``features``.
"""
