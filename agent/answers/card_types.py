"""What cards hold: text in the language of the answer, and plain numbers for places and states.

A card holds no address and no markup; the page makes links from a phone number and a pair of coordinates. What is empty is
left out of a card's data.
"""

from typing import Literal, NotRequired, TypedDict

Row = list[str]
"""A label and a text."""


class Place(TypedDict):
    """Where something is on a map."""

    lat: float
    lng: float


class Level(TypedDict):
    """How much there is: `level` is "ok", "low", "none" or "ask"."""

    stock: str
    level: str


class StoreRow(Level):
    """A branch on a stock card."""

    name: str
    km: str
    open: bool | None
    hours: str
    today: str
    note: str
    phone: str | None
    place: NotRequired[Place]


class ProductRow(Level):
    """A product of a list; `rx` says whether it needs a prescription, `tag` so in words."""

    name: str
    tag: str
    rx: bool


class InteractionPair(TypedDict):
    """Two products; `level` is "avoid", "caution" or "same"."""

    names: list[str]
    level: str
    label: str
    text: str


class PrescriptionItem(TypedDict):
    """A prescription on its card; `ask` is the label of a button, and the question that pressing it sends."""

    name: str
    state: str
    status: str
    refills: str
    refill: str
    can_refill: bool
    rows: list[Row]
    ask: NotRequired[Row]


class Step(TypedDict):
    """A step of a refill: `state` is "done", "now", "next" or "stopped", `mark` the same in words."""

    label: str
    state: str
    mark: str
    time: str


class SourceItem(TypedDict):
    """A stored answer's question, and where the answer is from."""

    title: str
    text: str


class CardData(TypedDict, total=False):
    """Data of a card; which fields a kind of card has is in the function of cards.py that makes it."""

    title: str
    note: str
    rows: list[Row]
    tag: str
    rx: bool
    source: str
    stores: list[StoreRow]
    words: dict[str, str]
    columns: list[str]
    products: list[ProductRow]
    pairs: list[InteractionPair]
    prescriptions: list[PrescriptionItem]
    steps: list[Step]
    items: list[SourceItem]
    action: str


Kind = Literal[
    "medication", "stock", "equivalents", "interactions", "prescriptions", "identity", "handoff", "refill", "sources"
]  # fmt: skip


class Card(TypedDict):
    """Card as it is sent to the page."""

    kind: Kind
    data: CardData
