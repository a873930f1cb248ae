"""What a conversation has been about: read when a turn begins and written with its answer. JSON."""

from typing import Any, NotRequired, TypedDict


class RememberedMedication(TypedDict, total=False):
    """A product that was talked about; or only `query`, a name that nothing on file is called."""

    id: int
    en: str
    he: str
    name: str
    """How to call it in a tool's argument when others share its name."""
    generic: str
    strength: str
    form: str
    query: str
    candidates: list[Any]
    said: str
    """How the customer called it."""
    by: str
    likely: bool
    """Whether the name is only like those of its candidates, so that the customer has to choose even the only one."""
    variant: str
    """The kind of it that the customer asked for: "children" or "extended"."""


class RememberedAllergen(TypedDict):
    """What somebody is allergic to: ingredients by id, classes; with neither it cannot be checked."""

    en: str
    he: str
    ingredients: list[int]
    classes: list[str]


class RememberedPlace(TypedDict, total=False):
    """A store, a city, or a place without a store (`unserved`); `query` is what tools are given."""

    query: str
    en: str
    he: str
    store: int
    city: str
    unserved: bool


class RememberedPrescription(TypedDict):
    """A prescription that was listed, or offered with its strength."""

    id: int
    med_id: int
    en: str
    he: str
    strength: NotRequired[str]


class RememberedQuestion(TypedDict, total=False):
    """What the customer wanted to know: an intent with what it is about."""

    intent: str
    medicines: list[RememberedMedication]
    place: RememberedPlace | None
    sections: list[str]
    details: dict[str, Any]


class PendingQuestion(TypedDict, total=False):
    """What we asked back: its kind, what the customer can choose from, and the question that waits for the answer."""

    kind: str
    frame: RememberedQuestion
    options: list[Any]
    reason: str


class RememberedFact(TypedDict):
    """A fact that a language model may use again: its id on the menu, and its sentence in one language."""

    id: str
    kind: str
    subject: str
    text: str
    quotes: list[str]
    language: str
    companion: NotRequired["RememberedFact"]
    """What has to be in the answer with it; it has no id."""


class OpenEmergency(TypedDict):
    """An emergency that nobody has said is over: its kinds, the first to be answered first, and the calm messages since."""

    kinds: list[str]
    calm: int


class RememberedAnswer(TypedDict):
    """The last answer from the knowledge base: its question without personal data, its entries, and the questions it offered."""

    question: str
    entries: list[str]
    offered: list[str]


class ConversationState(TypedDict, total=False):
    """All that is remembered from turn to turn."""

    focus: list[RememberedMedication]
    """The medicines that "it" means."""
    earlier: list[RememberedMedication]
    takes: list[RememberedMedication]
    """The medicines that the customer said they take."""
    allergies: list[RememberedAllergen]
    """The allergies that the customer mentioned."""
    warned: list[str]
    """What was warned of unasked: pairs of medicines ("1-15"), allergens with a product."""
    shown: list[RememberedMedication]
    """The products that were listed last."""
    prescriptions: list[RememberedPrescription]
    refills: list[str]
    """The numbers of the refill requests that are being collected."""
    last_stores: list[RememberedPlace]
    place: RememberedPlace | None
    intent: str
    last: RememberedQuestion
    last_branch: RememberedQuestion | None
    pending: PendingQuestion | None
    waiting: RememberedQuestion | None
    """The question that is taken up again once the customer is identified."""
    identifier_asked: bool
    emergency: OpenEmergency | None
    """The emergency that is open; whoever is identified, it stays."""
    misses: int
    """How many messages in a row were not understood."""
    refusals: int
    refused_with: str
    facts: list[RememberedFact]
    """What a language model was given in earlier turns and may repeat without a new call."""
    knowledge: RememberedAnswer
    contacts: str
    """Addresses and phones that the customer wrote, encrypted (`agent/conversation/typed.py`)."""
    waiting_told: str
    """The hand-off whose customer was told when a person reads what they write."""
    basic: bool
    """Whether an answer has already said that the assistant works in basic mode."""
    patient: int
    """Whose conversation it was."""
    personal: bool
    """Whether it was about that patient's own data."""
