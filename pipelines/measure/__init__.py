"""The work of ``sluice models profile``, ``models train`` and ``doctor``, but for the printing; and
what the networks of a process have run of late.

Read in this order: ``pictures``, ``profile_models``, ``prospects``, ``exit_files``,
``exit_places``, ``findings``, ``machine``, ``labelled_crops``, ``process_meter``,
``stand_ins``.
"""
