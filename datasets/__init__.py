"""Readers of labelled images and video, and the generated street with its ground truth."""
