"""The sources themselves: files, folders of images, generated scenes, network addresses; how they are decoded, sampled
and put into media time.

Read in this order: ``uri``, ``open``, ``decode``, ``opening``, ``hardware``, ``devices``, ``images``,
``high_range``, ``convert``, ``sampling``, ``frame_times``, ``stamp_order``, ``media_clock``, ``failures``.
"""
