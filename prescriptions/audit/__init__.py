"""The audit log: who did what, where, why and how. Append-only, sealed with a key that is not in the database.

`log` writes lines, `events` those that come as signals, `seals` computes what no one can without the key, `anchors` writes the head of the chain to a place
outside the database, `verifying` checks the log against all of it, `cutting` removes what is past its time.
"""

from prescriptions.audit.log import (
    Access,
    AuditDetail,
    AuditValue,
    audit_lock,
    audit_record,
)
from prescriptions.audit.verifying import AuditBreak, audit_verify

__all__ = [
    "Access",
    "AuditBreak",
    "AuditDetail",
    "AuditValue",
    "audit_lock",
    "audit_record",
    "audit_verify",
]
