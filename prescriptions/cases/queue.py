"""Read the queue of hand-offs as staff see it: what is in a saved view, and a row's words. No patient is named in it.

Only whoever has claimed a hand-off reads the patient's name in its row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from pharmacy_site.lib.bilingual import named
from prescriptions.cases.wording import SLA, VERIFIED, page_language, reason_shown, verified_code, word
from prescriptions.handoffs.selectors import handoffs_for, in_turn, late
from prescriptions.handoffs.sla import SlaState, sla_state
from prescriptions.models import Handoff, RefillRequest
from prescriptions.models.handoffs import HandoffQuerySet

PAGE: Final = 50
VIEWS: Final[Mapping[str, Promise]] = {
    "open": _("Open"),
    "unclaimed": _("Unclaimed"),
    "mine": _("Mine"),
    "breaching": _("Overdue"),
    "controlled": _("Controlled"),
    "all": _("All"),
}
"""The saved views, by their name in the address; the first is the one that opens."""
_OPEN: Final = Q(closed_at=None)


@dataclass(frozen=True)
class QueueRow:
    """One hand-off in the queue, worded."""

    pk: int
    number: str
    is_urgent: bool
    is_over: bool
    created_at: datetime
    age: str
    sla: SlaState
    sla_text: str
    due: str
    reason: str
    medicine: str
    schedule: str
    branch: str
    language: str
    verified: str
    verified_text: str
    claimed_by: str
    is_mine: bool
    patient: str
    """"" while the reader has not claimed it."""
    patient_id: int | None
    """The patient's key, when the row shows who it is."""
    outcome: str


@dataclass(frozen=True)
class Wanted:
    """What of the queue is asked for, by the page's address."""

    view: str = "open"
    reason: str = ""
    branch: str = ""
    language: str = ""
    query: str = ""

    @property
    def parameters(self) -> dict[str, str]:
        """Return the address's parameters."""
        given = {"view": self.view, "reason": self.reason, "branch": self.branch, "language": self.language}
        return {name: value for name, value in {**given, "q": self.query}.items() if value}


def queue_rows(user: User, wanted: Wanted) -> HandoffQuerySet:
    """Return the hand-offs that this person may see and asks for, those first that are to be taken first."""
    rows = handoffs_for(user).filter(_in_view(user, wanted.view))
    if wanted.reason:
        rows = rows.filter(Q(reason=wanted.reason) | Q(package__request__reason=wanted.reason))
    if wanted.branch.isascii() and wanted.branch.isdigit():
        rows = rows.filter(branch=int(wanted.branch))
    if wanted.language:
        rows = rows.filter(language=wanted.language)
    if wanted.query:
        # Customers know a refill's hand-off by the number of their request.
        refills = RefillRequest.objects.filter(number__iexact=wanted.query).values("handoff")
        rows = rows.filter(Q(number__iexact=wanted.query) | Q(pk__in=refills))
    rows = rows.select_related("medication", "branch", "claimed_by", "patient")
    # What is open has an index in its order.
    return in_turn(rows) if wanted.view == "all" else rows.order_by("-is_urgent", "pk")


def queue_counts(user: User) -> dict[str, int]:
    """Return how many hand-offs each saved view but the last has, in one query."""
    names = [name for name in VIEWS if name != "all"]
    rows = handoffs_for(user).filter(_OPEN)
    return dict(rows.aggregate(**{name: Count("pk", filter=_in_view(user, name)) for name in names}))


def queue_row(handoff: Handoff, user: User, now: datetime) -> QueueRow:
    """Return a hand-off as a row of the queue."""
    language = page_language()
    medicine = handoff.medication
    state = sla_state(handoff, now)
    is_mine = handoff.claimed_by_id == user.pk
    verified = verified_code(handoff)
    return QueueRow(
        pk=handoff.pk,
        number=handoff.number,
        is_urgent=handoff.is_urgent,
        is_over=handoff.is_over,
        created_at=handoff.created_at,
        age=span_text(now - handoff.created_at),
        sla=state,
        sla_text=word(SLA, state),
        due=_due(handoff, now),
        reason=reason_shown(handoff),
        medicine=str(medicine) if medicine else "",
        schedule=medicine.schedule if medicine else "",
        branch=named(handoff.branch, language) if handoff.branch else "",
        language=handoff.get_language_display(),
        verified=verified,
        verified_text=word(VERIFIED, verified),
        claimed_by=person_name(handoff.claimed_by),
        is_mine=is_mine,
        patient=named(handoff.patient, language) if is_mine and handoff.patient else "",
        patient_id=handoff.patient_id if is_mine else None,
        outcome=str(handoff.get_outcome_display()) if handoff.outcome else "",
    )


def rows_shown(rows: Sequence[Handoff], user: User) -> list[QueueRow]:
    """Return these hand-offs as rows."""
    now = timezone.now()
    return [queue_row(row, user, now) for row in rows]


def newest_waiting(user: User) -> int:
    """Return the greatest key of the hand-offs that wait and that this person may see, in whichever view; 0 for none."""
    found: int | None = handoffs_for(user).waiting().aggregate(newest=Max("pk"))["newest"]
    return found or 0


def newer_than(user: User, number: int, until: int) -> int:
    """Return how many of those that wait for this person came after the hand-off with this key, up to another."""
    return handoffs_for(user).waiting().filter(pk__gt=number, pk__lte=until).count()


def person_name(user: User | None) -> str:
    """Return how staff call somebody of the staff, "" for nobody."""
    return (user.get_full_name() or user.get_username()) if user else ""


def span_text(span: timedelta) -> str:
    """Return a span of time in its greatest unit."""
    minutes = max(0, int(span.total_seconds() // 60))
    if minutes < 60:
        return ngettext("%(count)d minute", "%(count)d minutes", minutes) % {"count": minutes}
    if minutes < 48 * 60:
        hours = minutes // 60
        return ngettext("%(count)d hour", "%(count)d hours", hours) % {"count": hours}
    days = minutes // (24 * 60)
    return ngettext("%(count)d day", "%(count)d days", days) % {"count": days}


def _in_view(user: User, view: str) -> Q:
    match view:
        case "unclaimed":
            return _OPEN & Q(claimed_by=None)
        case "mine":
            return _OPEN & Q(claimed_by=user)
        case "breaching":
            return _OPEN & late(timezone.now())
        case "controlled":
            return _OPEN & Q(medication__schedule__gt="")
        case "all":
            return Q()
    return _OPEN


def _due(handoff: Handoff, now: datetime) -> str:
    """Return until when it is to be claimed, or once claimed decided."""
    if handoff.is_over:
        return ""
    is_claimed = handoff.claimed_at is not None
    due = handoff.decide_due_at if is_claimed else handoff.claim_due_at
    if due is None:
        return ""
    if now >= due:
        texts = (_("to be claimed %(span)s ago"), _("to be decided %(span)s ago"))
        return str(texts[is_claimed]) % {"span": span_text(now - due)}
    texts = (_("to be claimed in %(span)s"), _("to be decided in %(span)s"))
    return str(texts[is_claimed]) % {"span": span_text(due - now)}
