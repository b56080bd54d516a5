"""Networks fitted to what a stream shows (Shen, 2019, ch. 5). WEG decides when to specialise to which classes, a
trainer trains heads on templates beside the running stream, and a timeline keeps what happened. The recognisers and
templates that ship are trained in ``shipped``, those of users in ``kit``.

Read in this order: ``rates``, ``weg``, ``heads``, ``templates``, ``trainer``, ``timeline_state``, ``timeline``,
``shipped``, ``kit``.
"""
# A part of Sluice.
