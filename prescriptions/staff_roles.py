"""Name the roles that take hand-offs. Pure."""

from typing import Final

TECHNICIAN: Final = "technician"
PHARMACIST: Final = "pharmacist"
PHYSICIAN: Final = "physician"
LADDER: Final = (TECHNICIAN, PHARMACIST, PHYSICIAN)
"""Each also takes hand-offs of the roles before it, and hears of those that were overdue there."""
