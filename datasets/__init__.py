"""Readers of labelled images and video, generated workloads, and the generated street with its ground truth.

Read in this order: ``archive``, ``vehicle6``, ``camera_crops``, ``plates``, ``streams``, ``requests``,
``request_times``, ``video``, ``street``.
"""
