"""Find what needs a person at the site's works now: a stuck outbox, a broken audit log, a system that is left alone."""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from pharmacy_site.lib.breaker import breakers
from prescriptions.dead_letters import dead_letters, notifications_stuck
from prescriptions.handoffs.sweep import deadlines_late
from prescriptions.models import AuditCheck

log = logging.getLogger(__name__)
SECONDS: Final = 60
"""Between two looks of a process."""

Code = Literal[
    "audit_broken", "audit_unanchored", "outbox_stuck", "dead_letters", "deadlines_late", "breaker_open"
]


@dataclass(frozen=True)
class Alert:
    """One alert; which of the further fields are set depends on its code."""

    code: Code
    count: int = 0
    """Messages or deadlines; of a broken audit log its first bad line."""
    name: str = ""
    """The system that is left alone, or how the audit log is broken (`AuditBreak.kind`)."""
    since: datetime | None = None


def alerts() -> list[Alert]:
    """Return the alerts of now, the gravest first; breakers are those of this process."""
    found: list[Alert] = []
    if check := AuditCheck.objects.filter(pk=1).first():
        if check.broken:
            found.append(Alert("audit_broken", count=check.line, name=check.broken))
        if check.unanchored_since:
            found.append(Alert("audit_unanchored", since=check.unanchored_since))
    counts: list[tuple[Code, int]] = [
        ("outbox_stuck", notifications_stuck().count()),
        ("dead_letters", dead_letters().count()),
        ("deadlines_late", deadlines_late().count()),
    ]
    found += [Alert(code, count=count) for code, count in counts if count]
    return found + [Alert("breaker_open", name=name) for name, is_open in breakers().items() if is_open]


class AlertLog:
    """Writes the alerts to the log: one line when there are others than at the last look."""

    def __init__(self) -> None:
        self._last: list[tuple[str, str]] = []

    def look(self) -> None:
        """Look for alerts, and write the line if they have changed; a count that grows is no change."""
        now = alerts()
        kinds: list[tuple[str, str]] = [(alert.code, alert.name) for alert in now]
        if kinds != self._last:
            if now:
                log.error("alerts: %s", " ".join(_short(alert) for alert in now))
            else:
                log.warning("alerts: none any more")
            self._last = kinds


_log: Final = AlertLog()


def alerts_log() -> None:
    """Write this process's alerts to the log, if they have changed."""
    _log.look()


def _short(alert: Alert) -> str:
    details = [alert.name.replace(" ", "_"), str(alert.count or "")]
    return alert.code + "".join(f":{detail}" for detail in details if detail)
