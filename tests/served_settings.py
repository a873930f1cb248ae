"""The site's settings with passwords that are hashed at once: what a hash costs is not these tests' matter."""

from django.conf import global_settings

from pharmacy_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *global_settings.PASSWORD_HASHERS]
