"""What people and files bring is stored without invisible characters, by whichever way it comes in, and never cut."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.test import Client
from django.urls import reverse

from inventory.importers import catalogue_import
from inventory.interactions_importer import interactions_import
from inventory.models import (
    Category,
    CategoryAlias,
    Ingredient,
    IngredientAlias,
    Interaction,
    LeafletSection,
    Medication,
    MedicationAlias,
    MedicationIngredient,
    StockMove,
)
from inventory.services import stock_set
from pharmacy_site.lib.fields import LONGEST_NAME, LONGEST_TEXT, CleanLine, CleanText
from pharmacy_site.lib.importing import ImportRefused
from pharmacy_site.lib.text import clean, is_invisible
from prescriptions.models import Allergy, Patient, Prescription
from stores.importer import localities_import
from stores.models import Locality, LocalityName, OpeningException, Store, StoreAlias

pytestmark = pytest.mark.django_db

INVISIBLE = {
    "control": "\x07\x1b\x7f\x9b",
    "direction": "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "zero width": "\u200b\u200c\u200d\u2060\u2061\u2064\ufeff\u00ad",
    "tags": "\U000e0001\U000e0049\U000e0047\U000e007f",
    "fillers": "\u034f\u115f\u1160\u3164\uffa0\u17b4\u180e",
    "variation selectors": "\ufe00\ufe0d\U000e0100\U000e01ef",
    "others": "\ufff9\ufffa\ufffb\u206a\u206f\U0001d173",
}
# Kept by the server itself, in forms of its own; nothing of it is typed, imported or shown as a text.
SERVERS_OWN = {
    "prescriptions.ReplyTemplate.code", "prescriptions.AuditCheck.broken",
    "stores.Locality.slug", "stores.Locality.country", "stores.LocalityName.folded", "stores.Store.phone", "stores.StoreAlias.folded",
    "inventory.Category.slug", "inventory.CategoryAlias.folded", "inventory.IngredientAlias.folded", "inventory.MedicationAlias.language",
    "inventory.StockMove.actor", "prescriptions.Patient.mrn", "prescriptions.Patient.email", "prescriptions.Patient.phone",
}  # fmt: skip
OUTSIDE = {
    "AuditEvent",
    "AuditHead",
    "Challenge",
    "Handoff",
    "Notification",
    "RefillRequest",
    "RefillTransition",
    "SearchTerm",
    "SearchWord",
    "SimulatedFault",
    "SimulatedOrder",
    "WordDeletion",
}


def planted(text: str, kind: str | None) -> str:
    """The text with the characters of one kind, or of all, in its middle and at both ends."""
    hidden = INVISIBLE[kind] if kind else "".join(INVISIBLE.values())
    return f"{hidden}{text[:2]}{hidden}{text[2:]}{hidden}"


def text_columns() -> Iterator[models.Field[Any, Any]]:
    for label in ("stores", "inventory", "prescriptions"):
        for model in apps.get_app_config(label).get_models():
            for field in model._meta.get_fields():
                if isinstance(field, models.CharField | models.TextField) and model.__name__ not in OUTSIDE:
                    yield field


def stored() -> dict[str, list[str]]:
    """All texts in the database by column, read past the models."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for field in text_columns():
            quoted = connection.ops.quote_name(field.column)
            table = connection.ops.quote_name(field.model._meta.db_table)
            cursor.execute(f"SELECT {quoted} FROM {table} WHERE {quoted} IS NOT NULL")
            found[f"{field.model.__name__}.{field.column}"] = [str(row[0]) for row in cursor.fetchall()]
    return found


def invisible_stored() -> list[str]:
    return [
        column
        for column, texts in stored().items()
        for text in texts
        if any(is_invisible(char) for char in text.replace("\n", ""))
    ]


def test_every_text_column_is_a_clean_field() -> None:
    others = {
        f"{field.model._meta.label}.{field.name}"
        for field in text_columns()
        if not isinstance(field, CleanLine | CleanText) and not field.choices
    }
    assert others <= SERVERS_OWN, others - SERVERS_OWN


@pytest.mark.parametrize("kind", INVISIBLE)
def test_every_invisible_character_is_removed(kind: str) -> None:
    assert clean(planted("Advil", kind)) == "Advil"
    assert all(is_invisible(char) for char in INVISIBLE[kind])


def test_visible_characters_are_kept() -> None:
    for text in ("Advil® 200 mg", "אַקָמוֹל 500 מ״ג", "5 µg/mL – 10 %", "❤\ufe0f", "café", "Line\nline"):
        assert clean(text) == text


def everything(kind: str) -> None:
    """One row of every table, each text planted."""

    def p(text: str) -> str:
        return planted(text, kind)

    town = Locality.objects.create(slug="lod", name_en=p("Lod"), name_he=p("לוד"), lat=31.95, lng=34.89)
    LocalityName.objects.create(locality=town, text=p("Lydda"))
    store = Store.objects.create(
        pk=7, name_en=p("Lod, Centre"), name_he=p("לוד, מרכז"), address_en=p("Herzl 1"), locality=town
    )
    StoreAlias.objects.create(store=store, text=p("Old town"))
    OpeningException.objects.create(store=store, date="2026-12-01", closed=True, note_en=p("Stock-taking"))
    category = Category.objects.create(slug="pain", name_en=p("Pain relief"), name_he=p("שיכוך כאבים"))
    CategoryAlias.objects.bulk_create(
        [CategoryAlias(category=category, text=p("Painkillers"), folded="painkillers")]
    )
    one, other = Ingredient.objects.bulk_create(
        Ingredient(key=p(key), name_en=p(key.title()), display_he=p("שם"))
        for key in ("ibuprofen", "warfarin")
    )
    IngredientAlias.objects.create(ingredient=one, text=p("brufen"))
    medication = Medication.objects.create(
        pk=7, name_en=p("Advil"), name_he=p("אדוויל"), generic_name_en=p("Ibuprofen"), form=p("tablet"), strength=p("200 mg"),
        pack_unit=p("tablets"), company=p("Pfizer"), external_id=p("0123"), category=category,
    )  # fmt: skip
    MedicationAlias.objects.create(medication=medication, text=p("Advill"))
    MedicationIngredient.objects.create(
        medication=medication, ingredient=one, strength=p("200 mg"), unit=p("mg")
    )
    LeafletSection.objects.create(
        medication=medication,
        kind="use",
        text_en=p("For pain.\nAnd fever."),
        text_he=p("לכאב"),
        source_en=p("Leaflet"),
    )
    Interaction.objects.create(
        ingredient_a=one, ingredient_b=other, level="avoid", source_text=p("Bleeding"), sources=p("ONC")
    )
    stock_set(
        store=store,
        medication=medication,
        quantity=3,
        reason=StockMove.Reason.COUNT,
        actor="x",
        note=p("counted twice"),
    )
    patient = Patient.objects.create(
        mrn="10000101",
        name_en=p("David Cohen"),
        name_he=p("דוד כהן"),
        email="d@example.com",
        born="1980-02-03",
    )
    Allergy.objects.create(patient=patient, drug_class=p("penicillin"), severity="mild")
    Prescription.objects.create(
        pk=7, patient=patient, medication=medication, directions_en=p("One a day"), prescriber=p("Dr. Levi"), status=p("active"),
        issued_on="2026-01-01", expires_on="2027-01-01",
    )  # fmt: skip


@pytest.mark.parametrize("kind", INVISIBLE)
def test_rows_made_by_code_and_fixtures_are_clean(kind: str) -> None:
    everything(kind)
    assert not invisible_stored()
    texts = stored()
    assert texts["Medication.name_he"] == ["אדוויל"]
    assert texts["Interaction.source_text"] == ["Bleeding"]
    assert texts["LeafletSection.text_en"] == ["For pain.\nAnd fever."]
    assert "counted twice" in texts["StockMove.note"]
    Medication.objects.update(name_en=planted("Nurofen", kind), company=planted("Reckitt", kind))
    medication = Medication.objects.get()
    assert (medication.name_en, medication.company) == ("Nurofen", "Reckitt")


def test_a_missing_hebrew_text_stays_missing_when_the_english_one_is_cleaned() -> None:
    store = Store.objects.create(pk=7, name_en="\u202eLod")
    store.refresh_from_db()
    assert (store.name_en, store.name_he) == ("Lod", None)


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("the-boss"))
    return client


def form_of(page: Any) -> tuple[dict[str, Any], set[str]]:
    """What a change page would send, and which of it is text of ours."""
    data: dict[str, Any] = {}
    texts: set[str] = set()
    formsets = [inline.formset for inline in page.context["inline_admin_formsets"]]
    for formset in formsets:
        data |= {f"{formset.prefix}-{name}": value for name, value in formset.management_form.initial.items()}
    for form in (
        page.context["adminform"].form,
        *(form for formset in formsets for form in formset.initial_forms),
    ):
        for bound in form:
            value = bound.value()
            data[bound.html_name] = "" if value is None or value is False else value
            columns = {field.name: field for field in form._meta.model._meta.get_fields()}
            if isinstance(columns.get(bound.name), CleanLine | CleanText) and value:
                texts.add(bound.html_name)
    for name, value in list(data.items()):
        if isinstance(value, list | dict):
            data[name] = json.dumps(value)
    return data, texts


ADMIN_PAGES = ["stores_locality", "stores_store", "inventory_category", "inventory_ingredient", "inventory_medication", "inventory_interaction", "prescriptions_patient"]  # fmt: skip


def test_text_typed_by_staff_is_cleaned(browser: Client) -> None:
    everything("zero width")
    before = stored()
    for name in ADMIN_PAGES:
        pk = apps.get_model(*name.split("_")).objects.order_by("pk")[0].pk
        url = reverse(f"admin:{name}_change", args=[pk])
        data, texts = form_of(browser.get(url))
        assert texts, name
        changed = data | {text: planted(f"X{data[text]}", None) for text in texts}
        response = browser.post(url, changed)
        assert response.status_code == 302, (name, response.context["errors"])
    assert not invisible_stored()
    after = stored()
    assert after["Medication.name_he"] == ["X" + before["Medication.name_he"][0]]
    assert after["LeafletSection.text_he"] == ["Xלכאב"]
    assert after["Store.address_en"] == ["XHerzl 1"]


@pytest.mark.parametrize("kind", INVISIBLE)
def test_imported_text_is_cleaned(tmp_path: Path, kind: str) -> None:
    columns = {
        "din": "00559407", "class": "Human", "brand_name": "TYLENOL", "ingredients": "ACETAMINOPHEN", "strengths": "odd strength", "forms": "TABLET",
        "routes": "ORAL", "rx_required": "False", "controlled": "", "schedules": "", "atc": "N02BE01", "company": "MCNEIL", "ingredients_canonical": "acetaminophen",
    }  # fmt: skip
    row = {
        name: planted(text, kind) if name not in ("class", "rx_required") and text else text
        for name, text in columns.items()
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    assert catalogue_import(path).created == 1
    pair = {
        "drug_a": planted("warfarin", kind),
        "drug_b": "aspirin",
        "level": "avoid",
        "sources": planted("ONC", kind),
        "message": planted("Bleeding", kind),
    }
    path.write_text(json.dumps([pair]), encoding="utf-8")
    assert interactions_import(path).created == 1
    town = {
        "id": "7700",
        "name": planted("עפולה", kind),
        "nameEn": planted("Afula", kind),
        "lat": 32.6,
        "lon": 35.29,
        "aliases": [planted("Affula", kind)],
    }
    path.write_text(json.dumps([town]), encoding="utf-8")
    assert localities_import(path).created == 1
    assert not invisible_stored()
    texts = stored()
    assert texts["Medication.company"] == ["MCNEIL"]
    assert texts["MedicationIngredient.strength"] == ["odd strength"]
    assert texts["Interaction.source_text"] == ["Bleeding"]
    assert set(texts["LocalityName.text"]) == {"עפולה", "Afula", "Affula"}


@pytest.mark.parametrize(("column", "longest"), [("message", LONGEST_TEXT), ("sources", 200)])
def test_a_row_whose_warning_is_too_long_is_refused_with_its_line(
    tmp_path: Path, column: str, longest: int
) -> None:
    pair = {"drug_a": "a", "drug_b": "b", "level": "avoid", "sources": "", "message": ""}
    path = tmp_path / "pairs.csv"
    rows = [",".join(pair), ",".join((pair | {column: "x" * longest}).values())]
    path.write_text("\n".join(rows), encoding="utf-8")
    assert interactions_import(path).created == 1
    too_long = pair | {"drug_b": "c", column: "x" * (longest + 1)}
    path.write_text("\n".join([*rows, ",".join(too_long.values())]), encoding="utf-8")
    with pytest.raises(ImportRefused, match=f"line 3: {column}: longer than {longest} characters"):
        interactions_import(path)
    assert Interaction.objects.count() == 1


def test_a_town_whose_alias_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    town = {"id": "1", "name": "", "nameEn": "A", "lat": 1, "lon": 1, "aliases": ["x" * 121]}
    path.write_text(json.dumps([town]), encoding="utf-8")
    with pytest.raises(ImportRefused, match="record 1: an alias is too long"):
        localities_import(path)


def test_a_text_that_is_too_long_is_refused_and_never_cut(browser: Client) -> None:
    everything("control")
    section = LeafletSection.objects.get()
    section.text_en = "x" * LONGEST_TEXT
    section.save()
    section.text_en += "x"
    with pytest.raises(ValidationError, match="2000"), transaction.atomic():
        section.save()
    with pytest.raises(ValidationError, match="120"), transaction.atomic():
        Medication.objects.create(name_en="x" * (LONGEST_NAME + 1), form="tablet")
    url = reverse("admin:inventory_medication_change", args=[7])
    data, _ = form_of(browser.get(url))
    data["leaflet-0-text_en"] = "x" * (LONGEST_TEXT + 1)
    response = browser.post(url, data)
    assert response.status_code == 200
    section.refresh_from_db()
    assert section.text_en == "x" * LONGEST_TEXT


def test_a_name_without_visible_characters_is_refused(browser: Client) -> None:
    everything("tags")
    url = reverse("admin:inventory_medication_change", args=[7])
    data, _ = form_of(browser.get(url))
    data["aliases-0-text"] = "\u200b\u2060"
    assert browser.post(url, data).status_code == 200
    assert MedicationAlias.objects.get().text == "Advill"
