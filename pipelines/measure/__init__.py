"""What ``sluice models profile``, ``sluice models select`` and ``sluice specialize profile`` do, without the printing.

Read in this order: ``pictures``, ``profile_models``, ``measured_variants``, ``compact_models``, ``template_data``,
``template_making``, ``head_prospects``, ``audit_prospects``.
"""
