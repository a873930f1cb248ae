"""Measurements of the product, each against a named baseline in the same run; `run.py` is the entry."""
