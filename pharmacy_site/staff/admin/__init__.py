"""Register the pages of staff access: accounts, groups, requests for accounts and lock-outs."""

from django.contrib import admin
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from pharmacy_site.staff.admin import accounts, lockouts, requests

# Their pages show keys, and give anybody a second factor; `pharmacy_site.staff.factor` alone does.
admin.site.unregister([StaticDevice, TOTPDevice])

__all__ = ["accounts", "lockouts", "requests"]
