"""Play whole conversations against the real stack and judge them: `manage.py evaluate`.

`run` starts `worker` processes; each restores a fresh database, plays a `trial` with a `customer` and judges it. Only
playing needs the development packages; the results in the admin do not.
"""
