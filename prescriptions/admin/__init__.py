"""Register the staff's pages: patients, prescriptions, hand-offs, the audit log, notifications and accounts.

Accounts belong here because this app defines the groups of staff (`prescriptions.roles`) and records every change of
an account in the audit log.
"""

from pharmacy_site.lib.admin import ReadOnly
from prescriptions.admin import accounts, handoffs, patients, records
from prescriptions.admin.base import PatientData

__all__ = ["PatientData", "ReadOnly", "accounts", "handoffs", "patients", "records"]
