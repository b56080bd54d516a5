"""Tests of `operators.recognise.account`."""
