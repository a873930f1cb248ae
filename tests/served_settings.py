"""The site's settings with a fast hash for passwords, since people sign in often in tests, and files that a browser keeps.

No list of queries is kept: no test reads one of another process.
"""

from pharmacy_site.lib.query_log import query_log_off
from pharmacy_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_MAX_AGE = 3600
query_log_off()
