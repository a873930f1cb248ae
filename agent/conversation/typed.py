"""Keep what a customer typed apart from what is stored of it.

The log has the message with contacts, codes, dates of birth and numbers of people masked. The turn needs them: an address says
whom to send a code to. So the run that answers holds the message encrypted, and loses it when it ends. Contacts stay with
the conversation, encrypted, for a person who may be asked for later.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from agent.conversation.records import RunInput
from agent.models import Event, Run
from agent.safety.privacy.storing import storable

MOST_CONTACTS: Final = 5
"""So many contacts are kept: the last ones."""
_FIELD: Final = "typed"


def typed_apart(text: str) -> tuple[str, RunInput]:
    """Return a message as it may be stored, and what its run is given of what was typed: nothing, when nothing was masked."""
    shown = storable(text).text
    if shown == text:
        return text, {}
    return shown, {"typed": _sealed(text)}


def typed_of(run: Run) -> str | None:
    """Return the message as it was typed, without the code that it proved; None for one that is stored whole.

    None too after a change of `SECRET_KEY`: the run then answers what is stored.
    """
    sealed = run.input.get(_FIELD)
    return _opened(str(sealed)) if sealed else None


def typed_forgotten(run: Run) -> dict[str, RunInput]:
    """Return the change of a run's row that removes what was typed; none for a run that holds nothing."""
    if _FIELD not in run.input:
        return {}
    left: RunInput = run.input.copy()
    left.pop("typed")
    return {"input": left}


def message_text(run: Run) -> str:
    """Return the message that a run answers, as it was typed; "" for a run that answers none."""
    if run.kind != Run.Kind.MESSAGE:
        return ""
    if (typed := typed_of(run)) is not None:
        return typed
    found = Event.objects.filter(conversation_id=run.conversation_id, seq=run.input_seq).first()
    return str(found.payload.get("text", "")) if found else ""


def contacts_sealed(known: str, contacts: Sequence[str]) -> str:
    """Return encrypted contacts with these added, "" for none."""
    if not contacts:
        return known
    before = [one for one in contacts_opened(known) if one not in contacts]
    return _sealed(json.dumps([*before, *contacts][-MOST_CONTACTS:]))


def contacts_opened(sealed: str) -> list[str]:
    """Return encrypted contacts; none after a change of `SECRET_KEY`."""
    text = _opened(sealed) if sealed else None
    return [str(one) for one in json.loads(text)] if text else []


def _sealed(text: str) -> str:
    return _sealer(settings.SECRET_KEY).encrypt(text.encode()).decode()


def _opened(sealed: str) -> str | None:
    try:
        return _sealer(settings.SECRET_KEY).decrypt(sealed.encode()).decode()
    except InvalidToken:
        return None


@lru_cache(maxsize=2)
def _sealer(secret: str) -> Fernet:
    key = hashlib.sha256(f"agent.conversation.typed:{secret}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))
