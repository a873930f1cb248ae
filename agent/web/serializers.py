"""Pydantic models of the HTTP resources' queries and results; the OpenAPI schema is made from them."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from agent.tools.base import Text, Tool
from agent.tools.facts import ingredient_names
from inventory import catalog
from inventory.models import Medication, StockLevel
from pharmacy_site.lib.bilingual import both
from stores.geo import Point
from stores.models import Store

LARGEST_OFFSET: Final = 100_000
DEGREES: Final = r"^(-?(90(\.0{1,15})?|[0-8]?[0-9](\.[0-9]{1,15})?), ?-?(180(\.0{1,15})?|(1[0-7][0-9]|[0-9]{1,2})(\.[0-9]{1,15})?))?$"
"""lat,lng in degrees, or nothing."""


class FieldError(BaseModel):
    """Names one field and what is wrong with it; "" is the body as a whole."""

    field: str
    message: str


class Problem(BaseModel):
    """What every problem document has (RFC 9457)."""

    type: str
    title: str
    status: int


class Errors(Problem):
    """The body of a 400."""

    errors: list[FieldError]


class Detail(Problem):
    """The body of a 401, 403, 404, 405, 413, 415 or 429."""

    detail: str


class Page(BaseModel):
    """The query of a list: which part of it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    offset: Annotated[int, Field(ge=0, le=LARGEST_OFFSET)] = 0


def point_of(text: str) -> Point:
    """Return a text of the pattern `DEGREES` as a point."""
    lat, lng = text.split(",")
    return Point(float(lat), float(lng))


class MedicationsQuery(Page):
    """The query of medications: all, or those that a search finds."""

    q: Text = ""


class StoresQuery(Page):
    """The query of stores: all by number, or with `near` those with a place, nearest first."""

    near: Annotated[str, Field(pattern=DEGREES)] = ""


class StockQuery(Page):
    """The query of stock levels."""

    medication: Text | None = None
    store: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None


class MedicationResource(BaseModel):
    """A product."""

    id: int
    name_en: str
    name_he: str
    generic_name: str
    ingredients: list[str]
    form: str
    release: str
    strength: str
    pack_size: int | None
    pack_unit: str
    rx_required: bool
    schedule: str
    substitution: str
    price: str | None
    external_id: str | None
    is_active: bool


class StoreResource(BaseModel):
    """A store; `km` is null unless `near` was given."""

    id: int
    name_en: str
    name_he: str
    kind: str
    address_en: str
    address_he: str
    lat: float | None
    lng: float | None
    phone: str | None
    km: float | None


class StockResource(BaseModel):
    """How much one store has of one product."""

    store: int
    medication: int
    quantity: int
    restock_on: str | None
    low_threshold: int
    updated_at: str


def paged(name: str, item: type[BaseModel]) -> type[BaseModel]:
    """Return the model of a page of such items."""
    many: Any = list[item]  # type: ignore[valid-type]
    return create_model(
        name, count=(int, ...), next=(str | None, ...), previous=(str | None, ...), results=(many, ...)
    )


MedicationPage = paged("MedicationPage", MedicationResource)
StorePage = paged("StorePage", StoreResource)
StockPage = paged("StockPage", StockResource)


class FunctionDefinition(BaseModel):
    """A function as OpenAI's API takes it."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool


class FunctionTool(BaseModel):
    """A tool as OpenAI's API takes it."""

    type: Literal["function"]
    function: FunctionDefinition


class ToolList(BaseModel):
    """All tools."""

    tools: list[FunctionTool]


def outcome_model(tool: Tool) -> type[BaseModel]:
    """Return the model of all that a tool may return: its successes and its failure."""
    kinds: Any = tool.success[0]
    for kind in (*tool.success[1:], tool.failure):
        kinds = kinds | kind
    base: Any = RootModel[kinds]
    name = "".join(part.title() for part in tool.name.split("_")) + "Result"
    return type(name, (base,), {"__doc__": f"What `{tool.name}` returns."})


def medication_resources(medications: list[Medication]) -> list[MedicationResource]:
    """Return products as resources; their ingredients in two queries."""
    catalog.contents_load(medications)
    return [
        MedicationResource(
            id=row.pk,
            name_en=both(row, "name")[0],
            name_he=both(row, "name")[1],
            generic_name=both(row, "generic_name")[0],
            ingredients=ingredient_names(row),
            form=row.form,
            release=row.release,
            strength=row.strength,
            pack_size=row.pack_size,
            pack_unit=row.pack_unit,
            rx_required=row.rx_required,
            schedule=row.schedule,
            substitution=row.substitution,
            price=None if row.price is None else str(row.price),
            external_id=row.external_id,
            is_active=row.is_active,
        )
        for row in medications
    ]


def store_resource(row: Store, km: float | None) -> StoreResource:
    """Return a store as a resource."""
    return StoreResource(
        id=row.pk,
        name_en=both(row, "name")[0],
        name_he=both(row, "name")[1],
        kind=row.kind,
        address_en=both(row, "address")[0],
        address_he=both(row, "address")[1],
        lat=row.lat,
        lng=row.lng,
        phone=str(row.phone) if row.phone else None,
        km=None if km is None else round(km, 3),
    )


def stock_resource(row: StockLevel) -> StockResource:
    """Return a stock level as a resource."""
    return StockResource(
        store=row.store_id,
        medication=row.medication_id,
        quantity=row.quantity,
        restock_on=row.restock_on.isoformat() if row.restock_on else None,
        low_threshold=row.low_threshold,
        updated_at=row.updated_at.isoformat(),
    )
