"""Operators that find regions in a frame: one by motion, one by a network.

Read in this order: ``motion``, ``onnx``, ``detections``, ``decoding``, ``yolo``, ``ssd``, ``centerface``,
``masked``, ``zoned``, ``agreement``, ``opinions``, ``needed``, ``variants``.
"""
