"""Refuse passwords that are guessed soon, and record that a password was changed."""

from typing import Final

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

# Of 0 to 4; 3 is beyond 10^8 guesses ("Summer2026!!"), 4 beyond 10^10.
_LEAST: Final = 4
# zxcvbn takes no more, and long before that a password is good enough.
_MOST: Final = 72
_OURS: Final = ["pharmacy", "pharmacist", "physician", "technician", "administrator", "auditor"]


class GuessableValidator:
    """Estimates how many guesses a password takes (zxcvbn): repeated, common, similar and keyboard patterns are soon found."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError for a password that is guessed soon by somebody who knows the account."""
        # Its lists of words take a while to load, and few processes need them.
        from zxcvbn import zxcvbn

        names = [user.username, user.first_name, user.last_name, user.email] if user else []
        parts = [part for name in names for part in (name, *name.replace("@", " ").split()) if part]
        if zxcvbn(password[:_MOST], user_inputs=[*parts, *_OURS])["score"] < _LEAST:
            raise ValidationError(
                _("This password is guessed too soon. Take several words that do not belong together."),
                code="password_guessable",
            )

    def get_help_text(self) -> str:
        """Return the rule as the form shows it."""
        return _("Several words that do not belong together are better than repeated or well-known ones.")
