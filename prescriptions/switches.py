"""Read what operators have switched off, for every process within seconds; what cannot be read counts as off.

An unreadable switch closes what is safe to close: no order goes to the dispenser and nothing to a language model. The
chat stays open, since its answers then come from the offline model.
"""

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.apps import AppConfig, apps

from pharmacy_site.lib.text import Language
from prescriptions.models import SiteSwitches

log = logging.getLogger(__name__)
READ_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Switches:
    """What is switched off; `closed_text` by language, without those that have none."""

    model_off: bool = False
    dispensing_off: bool = False
    chat_closed: bool = False
    closed_text: Mapping[Language, str] = field(default_factory=dict)


UNREAD: Final = Switches(model_off=True, dispensing_off=True)


class Board:
    """The switches as this process knows them, at most two seconds old."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self.forget()

    def forget(self, **_signal: Any) -> None:
        """Forget what was read; also the receiver of a saved row."""
        self._read_at = float("-inf")
        self._known = UNREAD

    @property
    def is_old(self) -> bool:
        """Whether they must be read again before they are used."""
        return time.monotonic() - self._read_at > READ_SECONDS

    @property
    def known(self) -> Switches:
        """The switches as they were last read; `UNREAD` before. No query, so that an event loop may ask."""
        return self._known

    def read(self) -> Switches:
        """Return the switches, from the database when they are old."""
        with self._reading:
            if self.is_old:
                self._known = _stored()
                self._read_at = time.monotonic()
            return self._known


board: Final = Board()


def _stored() -> Switches:
    try:
        row = SiteSwitches.objects.get(pk=1)
    except Exception as error:
        # Whatever it is: nobody can tell that it is on.
        log.error("switches unreadable, dispensing and the language model are off: %s", type(error).__name__)
        return UNREAD
    texts: dict[Language, str] = {"en": row.closed_text_en or "", "he": row.closed_text_he or ""}
    return Switches(
        model_off=row.model_off,
        dispensing_off=row.dispensing_off,
        chat_closed=row.chat_closed,
        closed_text={language: text for language, text in texts.items() if text},
    )


def on_post_migrate(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Make the row after a migration, with nothing switched off; an existing one stays as it is."""
    try:
        switches = kwargs.get("apps", apps).get_model("prescriptions", "SiteSwitches")
    except LookupError:
        return  # migrated back to before the table
    switches.objects.using(using).get_or_create(pk=1)
