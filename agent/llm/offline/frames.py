"""What a customer wants, as frames: an intent with its medicines, place, details and confidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agent.state import RememberedMedication, RememberedPlace, RememberedQuestion

SURE: Final = 0.85

LOST: Final = 0.70

# What may still be answered beside a refused request for advice: facts that no advice can hide in.
PLAIN_FACTS: Final = frozenset(
    {"stock", "stock_place", "price", "rx", "restock", "hours", "branch", "person", "list"}
)


# Intents in which a lone further name ("and Nurofen?") asks the same of another medicine.
REPEATABLE: Final = frozenset(
    {"info", "section", "stock", "stock_place", "rx", "price", "insurance", "restock", "equivalent", "detail"}
)

NEEDS_MEDICINE: Final = frozenset(
    {"info", "section", "detail", "rx", "price", "stock", "stock_place", "equivalent", "restock"}
)


# What only a tool or the branches' data can answer.
NEEDS_TOOL: Final = NEEDS_MEDICINE | {
    "list", "list_at", "hours", "branch", "interaction", "same", "prescriptions", "refill_status",
}  # fmt: skip


# Steps of proving who asks, which only code takes: a contact that was given, another code, giving up.
OF_IDENTITY: Final = frozenset({"identify", "resend"})

SHORT: Final = 3  # words of a question that can only lean on what was said before


@dataclass(frozen=True)
class Frame:
    """One thing the customer wants."""

    intent: str
    confidence: float
    medicines: tuple[RememberedMedication, ...] = ()
    place: RememberedPlace | None = None
    sections: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    assumed: bool = False  # the medicine comes from the conversation, so the answer names it
    bare: bool = False  # a name alone, which the next clause may ask about

    def remembered(self) -> RememberedQuestion:
        """Return the frame as the conversation's state stores it."""
        return {
            "intent": self.intent,
            "medicines": [medicine.copy() for medicine in self.medicines],
            "place": self.place.copy() if self.place else None,
            "sections": list(self.sections),
            "details": dict(self.details),
        }

    @staticmethod
    def recalled(question: RememberedQuestion) -> "Frame":
        """Return the frame that the conversation's state has stored."""
        return Frame(
            intent=question["intent"],
            confidence=0.95,
            medicines=tuple(question.get("medicines", ())),
            place=question.get("place"),
            sections=tuple(question.get("sections", ())),
            details=question.get("details", {}),
        )


REFILLS: Final = frozenset({"refill", "refill_status"})


def asks_for_several(frame: Frame) -> bool:
    """Return whether a request for a refill is about several medicines, named or "all of them"."""
    return frame.intent in REFILLS and (len(frame.medicines) > 1 or bool(frame.details.get("all")))


@dataclass(frozen=True)
class Decision:
    """A message's frames, and whether the first one answers a question of ours."""

    frames: tuple[Frame, ...]
    answers_question: bool = False
