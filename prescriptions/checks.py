"""System check of the identity policy."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security)
def identity_policy(**kwargs: Any) -> list[CheckMessage]:
    """Warn at every start about a policy that proves little."""
    if settings.CHAT_IDENTITY != "identifier":
        return []
    return [
        Warning(
            "CHAT_IDENTITY=identifier shows prescriptions to whoever types an e-mail or phone.",
            hint="Only for a terminal inside the pharmacy; unset it on a public site.",
            id="prescriptions.W001",
        )
    ]
