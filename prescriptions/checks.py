"""Check the identity policy at every start, and warn when it is weak."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register


@register(Tags.security)
def identity_policy(**kwargs: Any) -> list[CheckMessage]:
    """Return an error for an unknown policy, a warning for one that proves little."""
    match settings.CHAT_IDENTITY:
        case "otp":
            return []
        case "identifier":
            return [
                Warning(
                    "CHAT_IDENTITY=identifier shows prescriptions to whoever types an e-mail or phone.",
                    hint="Only for a terminal inside the pharmacy; unset it on a public site.",
                    id="prescriptions.W001",
                )
            ]
        case "dob":
            return [
                Error(
                    "CHAT_IDENTITY=dob is not supported yet.",
                    hint="It comes with refills; use otp.",
                    id="prescriptions.E001",
                )
            ]
    return [Error("CHAT_IDENTITY must be otp or identifier.", id="prescriptions.E002")]
