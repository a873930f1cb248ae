"""Whole conversations played against the real stack and judged: `manage.py evaluate`.

`run` spawns `worker` processes; each restores a fresh database, plays a `trial` with a `customer` and judges it.
"""
