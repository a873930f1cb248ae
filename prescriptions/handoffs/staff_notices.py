"""Write the notices to staff about a hand-off: to who is on call, else to all of its role, and to a webhook.

A notice names no patient and no medicine: its number, how urgent it is, and where to read it.
"""

import logging
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone, translation

from prescriptions.handoffs.sla import Haste, haste_of
from prescriptions.models import Handoff, Notification
from prescriptions.notifications import notification_enqueue
from prescriptions.roster import on_call
from prescriptions.staff_roles import LADDER

logger = logging.getLogger(__name__)


def staff_notify(handoff: Handoff, kind: str, *, again: str = "", to: Sequence[User] = ()) -> None:
    """Write a notice of this kind to each recipient, in the caller's transaction; `again` tells a repeated kind apart.

    `to` names the recipients; without any it goes to whoever takes the hand-off.
    """
    key = ":".join(part for part in ("handoff", handoff.number, kind, again) if part)
    with translation.override(handoff.language):
        reason = handoff.get_reason_display()
    haste = haste_of({handoff.reason, handoff.contact_why}, is_urgent=handoff.is_urgent)
    context = {
        "number": handoff.number,
        "reason": str(reason),
        "reason_code": handoff.reason,
        "urgent": "1" if haste == Haste.URGENT else "",
        "urgency": haste,
        "link": f"{settings.SITE_URL}{reverse('admin:prescriptions_handoff_change', args=[handoff.pk])}",
    }
    people = to or _recipients(handoff)
    if not people and not settings.HANDOFF_WEBHOOK:
        logger.warning("hand-off %s: there is nobody to notify", handoff.number)
    for user in people:
        notification_enqueue(
            key=f"{key}:{user.pk}",
            lane=f"{handoff.number}:{user.pk}",
            kind=kind,
            recipient=user.email,
            language=handoff.language,
            context=context,
        )
    if settings.HANDOFF_WEBHOOK:
        notification_enqueue(
            key=f"{key}:webhook",
            lane=f"{handoff.number}:webhook",
            kind=kind,
            recipient="",
            language=handoff.language,
            context=context,
            channel=Notification.Channel.WEBHOOK,
        )


def _recipients(handoff: Handoff) -> list[User]:
    """Return who has claimed the hand-off, else who is on call for it, else everybody of its role.

    Of an overdue one, whoever that is in the next role is added.
    """
    roles = [handoff.contact]
    if handoff.raised_at and handoff.contact in LADDER[:-1]:
        roles.append(LADDER[LADDER.index(handoff.contact) + 1])
    staff: QuerySet[User] = User.objects.filter(is_active=True, is_staff=True).exclude(email="")
    chosen: dict[int, User] = {}
    if person := handoff.claimed_by_id or handoff.contact_person_id:
        chosen |= {user.pk: user for user in staff.filter(pk=person)}
    for role in roles:
        if role == handoff.contact and chosen:
            continue
        branch = handoff.branch_id or settings.REFERENCE_BRANCH
        duties = on_call(role, branch, handoff.contact_why, at=timezone.now())
        found = staff.filter(pk__in=[duty.person for duty in duties]) or staff.filter(groups__name=role)
        chosen |= {user.pk: user for user in found}
    return list(chosen.values())
