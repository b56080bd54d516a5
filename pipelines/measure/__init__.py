"""The work of ``sluice models profile``, ``models select``, ``models train``, ``specialize profile``, ``caches build``
and ``doctor``, but for the printing.

Read in this order: ``pictures``, ``profile_models``, ``measured_variants``, ``template_data``, ``template_making``,
``prospects``, ``exit_files``, ``exit_places``, ``cache_files``, ``cache_places``, ``tapped_pictures``, ``cache_ways``,
``cache_building``, ``findings``, ``machine``, ``labelled_crops``.
"""
