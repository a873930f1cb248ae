"""Translate one row of a drug register into a Product. Pure: text in, a Product out.

About strengths: the register writes "250 MG/5 N". The letter only says whether the amount is that of the free base;
the unit of the 5 was lost in the export. For a liquid it can only be millilitres and is shown as such; a liquid
without any volume ("10 MG/N") has a strength that cannot be compared with another one, and no volume is invented.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from inventory import import_tables as tables
from inventory.import_names import display_name
from inventory.strengths import amount_text
from pharmacy_site.lib.text import clean

# The lengths of the columns; a test compares them.
NAME_LENGTH: Final = 120
GENERIC_LENGTH: Final = 200
INGREDIENT_LENGTH: Final = 200
FORM_LENGTH: Final = 60
STRENGTH_LENGTH: Final = 200
PART_LENGTH: Final = 80
EXTERNAL_ID_LENGTH: Final = 40
COMPANY_LENGTH: Final = 120

_STRENGTH: Final = re.compile(
    r"(?P<amount>\d+(?:\.\d+)?|\.\d+)\s+(?P<unit>.+?)/(?:(?P<per>\d+(?:\.\d+)?)\s+)?[NY]"
)
_BRACKETS: Final = re.compile(r"\(([^)]*)\)")
_MOST_DECIMALS: Final = 6
_MOST_DIGITS: Final = 12


class RowRefused(ValueError):
    """The row is wrong; `reasons` say why, column by column."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Part:
    """One ingredient of a product; `amount` is None if the strength cannot be compared."""

    ingredient: str
    strength: str
    amount: Decimal | None
    unit: str


@dataclass(frozen=True, slots=True)
class Product:
    """A product of the register, in the words and codes of this project."""

    external_id: str
    name: str
    generic_name: str
    form: str
    release: str
    strength: str
    atc: str
    rx_required: bool
    schedule: str
    pharmacist_only: bool
    company: str
    parts: tuple[Part, ...]


COLUMNS: Final = (
    "din", "class", "brand_name", "ingredients", "strengths", "forms", "routes", "rx_required", "controlled",
    "schedules", "atc", "company", "ingredients_canonical",
)  # fmt: skip


def is_for_humans(values: Mapping[str, str]) -> bool:
    """Return whether the row is about a medicine for humans."""
    return values["class"].strip().casefold() == tables.HUMAN_CLASS


def product_read(values: Mapping[str, str]) -> Product:
    """Return the product of a row, or raise RowRefused with everything that is wrong with it."""
    cell = {column: _one_line(values[column]) for column in COLUMNS}
    wrong = []
    for column, limit in (
        ("din", EXTERNAL_ID_LENGTH), ("brand_name", NAME_LENGTH), ("company", COMPANY_LENGTH), ("atc", 10),
    ):  # fmt: skip
        if len(cell[column]) > limit:
            wrong.append(f"{column}: longer than {limit} characters")
    wrong += [
        f"{column}: empty" for column in ("din", "brand_name", "ingredients_canonical") if not cell[column]
    ]
    rx_required = tables.BOOLEANS.get(cell["rx_required"].casefold())
    if rx_required is None:
        wrong.append(f"rx_required: neither true nor false: {cell['rx_required'][:20]!r}")
    schedule = tables.SCHEDULE_OF_CLASS.get(cell["controlled"].casefold())
    if schedule is None:
        wrong.append(f"controlled: no such class: {cell['controlled'][:20]!r}")

    canonical, raw, strengths = (
        _list(cell[name]) for name in ("ingredients_canonical", "ingredients", "strengths")
    )
    if len(raw) != len(canonical):
        wrong.append(f"ingredients: {len(raw)} of them, but {len(canonical)} canonical names")
    if strengths and len(strengths) != len(canonical):
        wrong.append(f"strengths: {len(strengths)} of them for {len(canonical)} ingredients")
    if any(len(text) > PART_LENGTH for text in strengths):
        wrong.append(f"strengths: one longer than {PART_LENGTH} characters")
    if any(len(name) > INGREDIENT_LENGTH for name in (*canonical, *raw)):
        wrong.append(f"ingredients: a name longer than {INGREDIENT_LENGTH} characters")
    form, release = form_read(cell["forms"], cell["routes"], cell["brand_name"])
    if len(form) > FORM_LENGTH:
        wrong.append(f"forms: longer than {FORM_LENGTH} characters")
    if wrong or rx_required is None or schedule is None:
        raise RowRefused(wrong)

    names = ingredient_names(canonical, raw)
    texts = strengths or [""] * len(names)
    parts = _merged(strength_read(text, form, name) for text, name in zip(texts, names, strict=True))
    return Product(
        external_id=cell["din"],
        name=display_name(cell["brand_name"]),
        generic_name=_joined([part.ingredient for part in parts], GENERIC_LENGTH).capitalize(),
        form=form,
        release=release,
        strength=_joined([part.strength for part in parts if part.strength], STRENGTH_LENGTH),
        atc=cell["atc"].upper(),
        rx_required=rx_required,
        schedule=schedule,
        pharmacist_only=tables.BIOLOGIC_SCHEDULE in cell["schedules"].upper()
        or any(map(_pharmacist_decides, names)),
        company=cell["company"],
        parts=parts,
    )


# -- Ingredients ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def ingredient_key(name: str) -> str:
    """Return the key of the substance that a name means: without salts, known synonyms replaced."""
    key = " ".join(_one_line(name).casefold().split())
    while key not in tables.INGREDIENT_SYNONYMS:
        stem, _, last = key.rpartition(" ")
        if last not in tables.SALTS or not stem or stem.split()[0] in tables.NEVER_A_STEM:
            return key
        key = stem
    return tables.INGREDIENT_SYNONYMS[key]


def ingredient_names(canonical: list[str], raw: list[str]) -> list[str]:
    """Return the key of each ingredient: its canonical name, unless that one lost or merged the substance.

    The canonical name of "POLIOVIRUS TYPE 1 (INACTIVATED)" is "inactivated", and insulin aspart and its protamine have
    one canonical name: with these, different products would count as equivalent.
    """
    names = []
    plain = [_BRACKETS.sub("", name).strip() for name in raw]
    for index, name in enumerate(canonical):
        key = ingredient_key(name)
        own = ingredient_key(plain[index]) or key
        inside = " ".join(_BRACKETS.findall(raw[index])).casefold()
        only_inside = key in inside and key.split()[0] not in own and key.endswith(("strain", "lep", "3m"))
        merged = {ingredient_key(plain[other]) for other, twin in enumerate(canonical) if twin == name}
        lost = key in tables.LOST_NAMES or only_inside
        names.append(own if lost or len(merged) > 1 else key)
    return names


def _pharmacist_decides(name: str) -> bool:
    return (
        name in tables.PHARMACIST_ONLY_INGREDIENTS
        or name.endswith(tables.BIOLOGIC_ENDINGS)
        or name.startswith(tables.BIOLOGIC_BEGINNINGS)
    )


# -- Strengths -----------------------------------------------------------------------------------------------


def strength_read(text: str, form: str, ingredient: str) -> Part:
    """Return one ingredient with its strength: "250 MG/5 N" is 250 mg/5 mL for a syrup, 250 mg for a tablet."""
    match = _STRENGTH.fullmatch(text)
    if not match:
        return Part(ingredient, text.lower(), None, "")
    amount, per = Decimal(match["amount"]), match["per"]
    unit = tables.UNIT_NAMES.get(match["unit"].upper(), match["unit"])
    shown = f"{amount_text(amount)}{'' if unit == '%' else ' '}{unit}"
    # One word of the form is enough; a powder for a suspension is a liquid when it is taken.
    words = set(re.split(r"\W+", form))
    is_liquid = bool(words & tables.LIQUID_WORDS) and "tablet" not in words
    comparable = True
    if per and is_liquid:
        shown, unit = f"{shown}/{amount_text(Decimal(per))} mL", f"{unit}/{amount_text(Decimal(per))} mL"
    elif per == "24" and "patch" in form:
        shown, unit = f"{shown}/24 h", f"{unit}/24 h"
    elif per or (is_liquid and unit != "%" and not words & tables.DRY_WORDS):
        comparable = False
    fits = len(amount.as_tuple().digits) <= _MOST_DIGITS and amount == round(amount, _MOST_DECIMALS)
    if not comparable or not fits:
        return Part(ingredient, shown[:PART_LENGTH], None, "")
    return Part(ingredient, shown[:PART_LENGTH], amount, unit)


def _merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return one part per ingredient; a kit of day and night tablets has several strengths of one ingredient."""
    by_name: dict[str, list[Part]] = {}
    for part in parts:
        by_name.setdefault(part.ingredient, []).append(part)
    merged = []
    for name, same in by_name.items():
        texts = list(dict.fromkeys(part.strength for part in same if part.strength))
        merged.append(same[0] if len(same) == 1 else Part(name, _joined(texts, PART_LENGTH, " / "), None, ""))
    return tuple(merged)


# -- Forms ---------------------------------------------------------------------------------------------------


def form_read(forms: str, routes: str, brand: str) -> tuple[str, str]:
    """Return the form and release type: "TABLET (EXTENDED-RELEASE)" is ("tablet", "extended").

    The route is part of the form unless it is the usual one: eye drops are not ear drops.
    """
    forms_read = [_form(text) for text in _list(forms.lower())]
    is_kit = any(name == "kit" for name, _ in forms_read) and len(forms_read) > 1
    forms_read = sorted({entry for entry in forms_read if entry[0] != "kit" or not is_kit})
    if not forms_read:
        return "", "immediate"
    releases = {release for _, release in forms_read if release}
    form = " + ".join(dict.fromkeys(name for name, _ in forms_read))
    if len(forms_read) == 1 and not is_kit:
        form = _with_route(form, _list(routes.lower()))
    release = min(releases) if len(releases) == 1 else ("extended" if "extended" in releases else "immediate")
    if "delayed" in releases and "extended" not in releases:
        release = "delayed"
    if not releases and form in tables.BRAND_RELEASE_FORMS:
        words = re.split(r"[\s/-]+", brand.casefold())
        release = next(
            (tables.RELEASE_OF_BRAND_WORD[w] for w in words if w in tables.RELEASE_OF_BRAND_WORD), release
        )
    return (f"{form} kit" if is_kit else form), release


def _form(text: str) -> tuple[str, str]:
    """Return the name of one form and its release type ("" if the form does not name one)."""
    if text in tables.FORM_NAMES:
        return tables.FORM_NAMES[text], ""
    base, _, rest = text.partition("(")
    if not rest:
        base, _, rest = text.partition(",")
    details = rest.rstrip(")").strip()
    words = re.split(r"[^a-z]+", details)
    releases = list(
        dict.fromkeys(tables.RELEASE_WORDS[word] for word in words if word in tables.RELEASE_WORDS)
    )
    name = base.strip()
    named = [form for word, form in tables.FORM_WORDS.items() if word in details]
    if named:
        name = f"{' '.join(named)} {name}"
    elif details and not releases:
        name = f"{name} ({details})"
    if len(releases) > 1:
        # A tablet with an immediate and a slow part has a form name of its own.
        return f"{' and '.join(releases)}-release {name}", "extended" if "extended" in releases else "delayed"
    return name, releases[0] if releases else ""


def _with_route(form: str, routes: list[str]) -> str:
    """Return the form together with its routes, unless these are the usual ones."""
    named = {tables.ROUTE_NAMES.get(route, route) for route in routes} - {""}
    usual = next(
        (usual for name, usual in tables.USUAL_ROUTES.items() if form == name or form.endswith(f" {name}")),
        frozenset(),
    )
    if not named or named <= usual or any(route in form.split() for route in named):
        return form
    if named == {"injection"}:
        return f"{form} for injection"
    return f"{'/'.join(sorted(named))} {form}" if len(named) <= 3 else f"{form} for several routes"


def _one_line(text: str) -> str:
    if text.isascii() and text.isprintable() and "  " not in text:
        # What `clean` would return, in a tenth of the time.
        return text.strip()
    return clean(text).replace("\n", " ")


def _list(text: str) -> list[str]:
    return [entry for entry in (part.strip() for part in text.split(";")) if entry]


def _joined(texts: list[str], limit: int, glue: str = " + ") -> str:
    """Join as many texts as fit, with an ellipsis if there are more."""
    result = glue.join(texts)
    while len(result) > limit:
        texts = texts[:-1]
        result = glue.join([*texts, "…"])
    return result
