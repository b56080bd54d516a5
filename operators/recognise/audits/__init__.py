"""The audits of a recognise node: a sample of objects is answered twice, by the shortcut and by the oracle, and the
answers are compared. In the shadow the oracle's answer is published; in service the shortcut's.

Read in this order: ``auditor``, ``node_stream``, ``model_choice``, ``bench``, ``look_audits``, ``track_audits``,
``trial``, ``moments``, ``open_trials``, ``second_thoughts``, ``shadow``, ``disagreeing``.
"""
