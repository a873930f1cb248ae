"""Read hand-offs: the queue in its order, what each member of staff may see, and the address left with an earlier one."""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import F, Q

from prescriptions.models import Handoff
from prescriptions.models.handoffs import HandoffQuerySet
from prescriptions.roles import roles_of
from prescriptions.staff_roles import LADDER


def handoffs_waiting() -> HandoffQuerySet:
    """Return the open hand-offs in the order in which staff take them: the urgent first, then the oldest."""
    return Handoff.objects.waiting().order_by("-is_urgent", "pk")


def handoffs_unclaimed() -> HandoffQuerySet:
    """Return those of them that nobody has taken yet."""
    return handoffs_waiting().filter(claimed_by=None)


def waiting_before(handoff: Handoff) -> int:
    """Return how many unclaimed hand-offs staff of the same role take before this one."""
    is_before = Q(is_urgent=handoff.is_urgent, pk__lt=handoff.pk)
    if not handoff.is_urgent:
        is_before |= Q(is_urgent=True)
    return handoffs_unclaimed().filter(is_before, contact=handoff.contact).count()


def conversations_of(handoff: Handoff) -> list[UUID]:
    """Return the conversations that read of a hand-off: the one in which it goes on; of failed verifications, all."""
    found = [handoff.conversation_id] if handoff.conversation_id else []
    if handoff.reason == Handoff.Reason.IDENTITY_FAILED:
        found += [UUID(one) for one in handoff.package.get("conversations", ())]
    return list(dict.fromkeys(found))


def handoffs_for(user: User) -> HandoffQuerySet:
    """Return the hand-offs that somebody may see: an auditor all, others those of their role and the roles before it."""
    roles = roles_of(user)
    if "auditor" in roles:
        return Handoff.objects.all()
    ranks = [LADDER.index(role) for role in roles if role in LADDER]
    if not ranks:
        return Handoff.objects.none()
    return Handoff.objects.filter(contact__in=LADDER[: max(ranks) + 1])


def sees_handoffs(user: User) -> bool:
    """Return whether somebody's group sees hand-offs."""
    return bool(roles_of(user) & {"auditor", *LADDER})


def late(now: datetime) -> Q:
    """Return the condition of waiting beyond a deadline: unclaimed beyond the first, claimed beyond the second."""
    return Q(claimed_at=None, claim_due_at__lte=now) | Q(decide_due_at__lte=now)


def in_turn(rows: HandoffQuerySet) -> HandoffQuerySet:
    """Sort what waits by urgency and age, and put after it what is over, latest first."""
    return rows.order_by(F("closed_at").desc(nulls_first=True), "-is_urgent", "pk")


def contact_email_left(conversation_id: UUID | None) -> str:
    """Return the e-mail address that an unidentified customer left with an earlier hand-off of this conversation, or ""."""
    if conversation_id is None:
        return ""
    left = Handoff.objects.filter(conversation_id=conversation_id, patient=None).exclude(contact_email="")
    return left.order_by("-pk").values_list("contact_email", flat=True).first() or ""
