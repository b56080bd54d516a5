"""The audits of a recognise node: an object for which one party answers is looked at by another, unseen, and what both
conclude is compared. In the shadow the oracle answers and the shortcut looks too; in service it is the other way round.

Read in this order: ``auditor``, ``bench``, ``look_audits``, ``track_audits``, ``trial``, ``moments``, ``open_trials``,
``second_thoughts``, ``shadow``, ``disagreeing``.
"""
