"""Hold patients, prescriptions, identity checks, hand-offs, notifications and the audit log."""
