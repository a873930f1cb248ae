"""The facts that tools return beside their contracts' results: JSON, names in English and Hebrew."""

from typing import NotRequired, TypedDict


class Labels(TypedDict):
    """A name in both languages."""

    en: str
    he: str


class CandidateFacts(TypedDict):
    """What tells products apart when a customer has to choose."""

    id: int
    label_en: str
    label_he: str
    form: str
    release: str
    strength: str


class ProductFacts(CandidateFacts):
    """What is on file about a product. Of a controlled one, customers are shown no quantity."""

    generic_en: str
    generic_he: str
    pack_size: int | None
    pack_unit: str
    price: str | None
    rx: bool
    schedule: str
    controlled: bool
    substitution: str
    prior_authorization: bool
    category_en: str | None
    category_he: str | None


class LeafletSection(TypedDict):
    """A leaflet's text on one subject, with its source."""

    en: str
    he: str
    source_en: str
    source_he: str
    updated_on: str | None


class StoreLabel(TypedDict):
    """What every mention of a store says."""

    store_id: int
    label_en: str
    label_he: str
    kind: str
    phone: str | None


class OpeningFacts(TypedDict, total=False):
    """When a store is open; only in the chat."""

    open_now: bool | None
    opens_at: str | None
    closes_at: str | None
    hours_today: list[list[str]]
    note_en: str
    note_he: str


class StoreFacts(StoreLabel, OpeningFacts):
    """A store, and where it is."""

    lat: float | None
    lng: float | None


class StockFacts(StoreFacts):
    """A store and how many packs of a product it has; `km` is null when nobody said from where."""

    quantity: int
    low: bool | None
    km: NotRequired[float | None]
    restock_on: NotRequired[str | None]
    updated_at: NotRequired[str | None]


class PlaceStock(TypedDict):
    """The store or city that is talked about, and how many packs it has of each product, by its id."""

    label_en: str
    label_he: str
    packs: dict[str, int]


class PairFacts(TypedDict):
    """An interaction on file between two products, by their ids."""

    a: int
    b: int
    level: str
    kind: str
    ingredients: list[Labels]


class UnassessedFacts(Labels):
    """An ingredient, or a whole product, that no interaction data covers."""

    medication: int


class PrescriptionFacts(TypedDict):
    """A prescription: ids, numbers and dates, and for the customer's card its strength and directions."""

    presc_id: int
    status_known: bool
    expires_on: str
    issued_on: str
    last_filled_on: str | None
    days_supply: int | None
    too_early_until: NotRequired[str | None]
    med_id: NotRequired[int]
    refills_left: NotRequired[int]
    refill_pending: NotRequired[bool]
    schedule: NotRequired[str]
    strength: NotRequired[str]
    directions_en: NotRequired[str]
    directions_he: NotRequired[str]


class Evidence(TypedDict, total=False):
    """Whatever any tool gives; each tool's file says which keys are its own."""

    medication: ProductFacts
    medications: list[ProductFacts] | dict[str, Labels]
    leaflet: dict[str, LeafletSection]
    by: str
    whole_word: bool
    matched_by: str
    candidates: list[CandidateFacts]
    near: list[CandidateFacts]
    more: bool
    equivalents: list[ProductFacts]
    substitution: str
    totals: dict[str, int]
    there: PlaceStock
    controlled: bool | list[int]
    store: StoreFacts
    threshold: int
    low: bool
    updated_at: str
    restock_on: str | None
    place: str
    city_en: str
    city_he: str
    requested: StockFacts
    stores: list[StockFacts]
    elsewhere: list[StockFacts]
    nearest: StockFacts | None
    nearest_stocked: StockFacts | None
    near_place: dict[str, str] | None
    pairs: list[PairFacts]
    unassessed: list[UnassessedFacts]
    unknown: list[str]
    prescription: PrescriptionFacts | None
    prescriptions: list[PrescriptionFacts]


def totals_of(evidence: Evidence) -> dict[int, int]:
    """Return the packs of all stores together by product; JSON has only texts for keys."""
    return {int(pk): int(total) for pk, total in evidence["totals"].items()}


def packs_there(evidence: Evidence, medication_id: int) -> int:
    """Return the packs of a product at the place that is talked about, 0 without such a place."""
    return evidence["there"]["packs"].get(str(medication_id), 0) if "there" in evidence else 0


def products_listed(evidence: Evidence) -> list[ProductFacts]:
    """Return the products that S1's inventory check lists."""
    listed = evidence.get("medications", [])
    return listed if isinstance(listed, list) else []


def names_checked(evidence: Evidence) -> dict[str, Labels]:
    """Return the names, by id, of the products that S1's interaction check looked at."""
    checked = evidence.get("medications", {})
    return checked if isinstance(checked, dict) else {}
