"""Find the medicines that a customer says they take: "I'm on warfarin"."""

from typing import Final

from agent.llm.offline.reading.message import Clause, Message
from agent.state import RememberedMedication

_REACH: Final = 4  # words at most between "I take" and the name, and between two names of a list
_MAY: Final = frozenset(
    "can could may should must shall if when before after not dont never אפשר מותר האם כדאי צריך אם לא".split()
)
"""Before "I take" they make it a question or a condition."""


def medicines_taken(message: Message) -> list[RememberedMedication]:
    """Return the medicines that a message says are taken; only names that mean exactly one product."""
    found: dict[int, RememberedMedication] = {}
    for clause in message.clauses:
        for medicine in _taken_in(clause):
            found[medicine["id"]] = medicine
    return list(found.values())


def _taken_in(clause: Clause) -> list[RememberedMedication]:
    taken = []
    for start, end in clause.cues.spans("takes"):
        if _MAY & set(clause.words[max(0, start - 2) : start]):
            continue
        for medicine in sorted(clause.medicines, key=lambda one: one.start):
            if not 0 <= medicine.start - end <= _REACH:
                continue
            end = medicine.end
            if len(medicine.candidates) == 1 and "id" in medicine.candidates[0]:
                taken.append(medicine.candidates[0])
    return taken
