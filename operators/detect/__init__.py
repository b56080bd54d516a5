"""Detect: operators that find regions in a frame."""
