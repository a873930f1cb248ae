"""Mask who people are in a conversation that staff read before they have claimed its hand-off."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.llm.public_names import public_in
from agent.safety.privacy.placeholders import KINDS, Placeholders
from agent.turn.context import personal_values
from pharmacy_site.lib.json_values import rebuilt
from prescriptions.masking import MASK
from prescriptions.models import Patient
from prescriptions.transcripts import Said

_PLACEHOLDER: Final = re.compile(rf"\[\[(?:{'|'.join(KINDS)})(?:_\d+)?\]\]")


def transcript_masked(messages: Sequence[Said], patient: Patient | None) -> list[Said]:
    """Return the messages without names, contacts, dates of birth and numbers of people (`CONVERSATION_MASKER`).

    Medicines, amounts and phones of branches stay. A name that is recognised in one message is masked in all, and so are
    the patient's own values, however they are written.
    """
    hidden = Placeholders(personal_values(patient) if patient else {})
    # What the assistant says of medicines and branches is no secret: medicines' names are looked for in all of it.
    hidden.publish(public_in([said.text for said in messages]))
    for said in messages:
        hidden.hide(said.text)

    return [
        replace(
            said,
            text=_shown(hidden.hide(said.text)),
            calls=[
                replace(
                    call,
                    arguments=_each(call.arguments, hidden.hide),
                    # A result of our own tools names nobody who is not known here.
                    result=_each(hidden.hide_known(call.result), _shown),
                )
                for call in said.calls
            ],
        )
        for said in messages
    ]


def _each(value: Any, change: Callable[[str], str]) -> Any:
    return rebuilt(value, lambda leaf: _shown(change(leaf)) if isinstance(leaf, str) else leaf)


def _shown(text: str) -> str:
    return _PLACEHOLDER.sub(MASK, text)
