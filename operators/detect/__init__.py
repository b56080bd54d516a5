"""Operators that find regions in a frame, by motion or by a network, and what is put around them: masks, zones,
detection only where it is needed, as much of a frame as that pays for, a choice between several models.

Read in this order: ``motion``, ``onnx``, ``detections``, ``decoding``, ``ssd``, ``centerface``,
``zoned``, ``agreement``, ``detail``, ``needed``, ``variants``.
"""
