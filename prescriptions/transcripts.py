"""Read and write conversations for staff; the app above, which has the conversations, says how."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from prescriptions.audit import Access
from prescriptions.models import Handoff, Patient

MOST_MESSAGES = 100


@dataclass(frozen=True)
class Looked:
    """One call of a tool for an answer: with what, whether it succeeded or with which code not, and the facts it gave."""

    name: str
    arguments: Mapping[str, Any]
    ok: bool
    code: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    """What was looked up, in the words of the page that shows it."""
    rows: Sequence[tuple[str, str]] = ()
    """What was asked and found, in those words: names with values."""


@dataclass(frozen=True)
class Said:
    """One message: of "user", "assistant" or "staff" (then `author` wrote it), as it is stored, its secrets masked."""

    role: str
    text: str
    language: str
    seq: int = 0
    at: datetime | None = None
    author: str = ""
    is_automatic: bool = False
    """Whether the assistant answered while a person had the conversation."""
    calls: Sequence[Looked] = ()
    elsewhere: str = ""
    """The short name of the conversation in which it was written, when that is another than the hand-off's."""


Masker = Callable[[Sequence[Said], Patient | None], Sequence[Said]]
Reader = Callable[[UUID, int | None, int], Sequence[Said]]


class Writer(Protocol):
    """Writes what staff say into the conversation of a hand-off."""

    def __call__(
        self, handoff: Handoff, user: User, text: str, *, seen_seq: int, access: Access, seen_in: UUID | None
    ) -> int:
        """Return the number of the message."""


Giver = Callable[[Handoff, User, Access], None]


def short_name(conversation_id: UUID) -> str:
    """Return what staff call a conversation: the beginning of its key."""
    return str(conversation_id)[:8]


def transcript_of(conversation_id: UUID | None, patient_id: int | None) -> Sequence[Said]:
    """Return the last messages that are nobody's or this patient's, oldest first; none of a conversation that is gone."""
    if conversation_id is None:
        return ()
    reader: Reader = import_string(settings.CONVERSATION_READER)
    return reader(conversation_id, patient_id, MOST_MESSAGES)


def transcript_of_handoff(handoff: Handoff, *, with_patient: bool = True) -> Sequence[Said]:
    """Return what staff who have a hand-off read of its conversation, after what was said in others that it is about.

    Messages of other conversations have the number 0 and say where they are: a reply answers those of its own. Without the patient,
    and of whoever failed to prove who they are, only what is nobody's is read.
    """
    is_known = with_patient and handoff.reason != Handoff.Reason.IDENTITY_FAILED
    patient = handoff.patient_id if is_known else None
    others = [UUID(one) for one in handoff.package.get("conversations", [])]
    elsewhere = [
        replace(said, seq=0, elsewhere=short_name(one))
        for one in others
        # Of a failed identity all are named, its own among them.
        if one != handoff.conversation_id
        for said in transcript_of(one, patient)
    ]
    return [*elsewhere, *transcript_of(handoff.conversation_id, patient)]


def names_masked(messages: Sequence[Said], patient: Patient | None) -> Sequence[Said]:
    """Return messages without who people are: names, contacts and dates of birth, above all those of this patient."""
    masker: Masker = import_string(settings.CONVERSATION_MASKER)
    return masker(messages, patient) if messages else messages


def reply_write(
    handoff: Handoff, user: User, text: str, *, seen_seq: int, access: Access, seen_in: UUID | None = None
) -> int:
    """Write to the customer, whom the assistant no longer answers from then on, and return the message's number.

    `seen_seq` is the number of the last message that the writer has read, `seen_in` the conversation in which: of another
    than the present one it counts for nothing. Raises HandoffTaken and HandoffRefused ("text",
    "no_conversation" besides the usual codes), and UnseenMessages when the customer has written since: nothing is
    written then.
    """
    writer: Writer = import_string(settings.CONVERSATION_WRITER)
    return writer(handoff, user, text, seen_seq=seen_seq, access=access, seen_in=seen_in)


def give_back(handoff: Handoff, user: User, access: Access) -> None:
    """Let the assistant answer again in the conversation of a hand-off that stays open. Raises HandoffTaken and HandoffRefused."""
    giver: Giver = import_string(settings.CONVERSATION_GIVER)
    giver(handoff, user, access)
