"""The staff's view of the catalogue and of stock, through the pages themselves."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pytest_django import DjangoAssertNumQueries

from inventory.catalog import medication_resolve
from inventory.errors import MedicationNotFound
from inventory.models import (
    Category,
    Ingredient,
    IngredientAlias,
    Interaction,
    LeafletSection,
    Medication,
    MedicationTerm,
    StockLevel,
    StockMove,
)
from inventory.services import stock_set
from stores.models import Store, StoreAlias
from stores.places import StorePlace, place_find

pytestmark = pytest.mark.django_db
LEVELS = reverse("admin:inventory_stocklevel_changelist")
Cast = Callable[..., Medication]


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A page in Hebrew leaves its thread in Hebrew; the tests that follow are none of its business."""
    with translation.override("en"):
        yield


@pytest.fixture
def staff(db: None) -> User:
    return User.objects.create_superuser("the-boss")


@pytest.fixture
def browser(staff: User) -> Client:
    client = Client()
    client.force_login(staff)
    return client


def rows(page: Any) -> list[StockLevel]:
    return list(page.context["cl"].result_list)


def row_post(page: Any, **changes: str) -> dict[str, str]:
    """What the list's form would send, with some values changed: `quantity_7` for the level of medication 7."""
    formset = page.context["cl"].formset
    data = {f"{formset.prefix}-{name}": value for name, value in formset.management_form.initial.items()}
    for form in formset.forms:
        level = form.instance
        data[f"{form.prefix}-id"] = str(level.pk)
        data[f"seen-{level.pk}"] = str(level.version)
        for field in ("quantity", "restock_on", "low_threshold"):
            value = getattr(level, field)
            data[f"initial-{form.prefix}-{field}"] = str("" if value is None else value)
            data[f"{form.prefix}-{field}"] = changes.get(
                f"{field}_{level.medication_id}", str(value or "" if value is None else value)
            )
    return {**data, "_save": "Save"}


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.parametrize(
    "model", ["medication", "ingredient", "category", "interaction", "stocklevel", "stockmove"]
)
def test_every_list_and_form_opens_in_both_languages(
    shelf: None, browser: Client, model: str, language: str
) -> None:
    first, second = Ingredient.objects.order_by("pk")[:2]
    Interaction.objects.create(ingredient_a=first, ingredient_b=second, level="caution")
    Category.objects.create(slug="pain", name_en="Pain relievers")
    LeafletSection.objects.create(medication_id=1, kind="use", text_en="Pain")
    stock_set(
        store=Store.objects.get(),
        medication=Medication.objects.get(pk=1),
        quantity=1,
        actor="x",
        reason="count",
    )
    browser.cookies["django_language"] = language
    listed = browser.get(reverse(f"admin:inventory_{model}_changelist"))
    assert listed.status_code == 200
    assert f'lang="{language}"' in listed.text
    row = listed.context["cl"].result_list[0]
    opened = browser.get(reverse(f"admin:inventory_{model}_change", args=[row.pk]))
    assert opened.status_code == 200
    if model not in ("stockmove",):
        assert browser.get(reverse(f"admin:inventory_{model}_add")).status_code == 200


def test_language_tabs_load_nothing_from_elsewhere(shelf: None, browser: Client) -> None:
    page = browser.get(reverse("admin:inventory_medication_change", args=[1])).text
    assert "/static/vendor/jquery-ui.min.js" in page
    assert "googleapis" not in page
    assert 'name="name_en"' in page
    assert 'name="name_he"' in page


def test_a_count_in_the_list_writes_a_movement(shelf: None, browser: Client, staff: User) -> None:
    page = browser.get(LEVELS, {"store__id__exact": "1"})
    answer = browser.post(LEVELS, row_post(page, quantity_1="149"))
    assert answer.status_code == 302
    level = StockLevel.objects.get(medication_id=1)
    assert (level.quantity, level.version) == (149, 1)
    [move] = StockMove.objects.all()
    assert (move.delta, move.quantity_after, move.actor, move.reason) == (
        -1,
        149,
        f"user:{staff.pk}",
        "count",
    )


def test_a_changed_date_writes_no_movement(shelf: None, browser: Client) -> None:
    before = StockLevel.objects.get(medication_id=2)
    page = browser.get(LEVELS)
    browser.post(LEVELS, row_post(page, restock_on_2="2030-01-15", low_threshold_2="4"))
    after = StockLevel.objects.get(medication_id=2)
    assert str(after.restock_on) == "2030-01-15"
    assert after.low_threshold == 4
    assert (after.version, after.updated_at) == (before.version + 1, before.updated_at)  # nobody counted
    assert not StockMove.objects.exists()


def test_a_change_made_meanwhile_is_not_overwritten(shelf: None, browser: Client) -> None:
    page = browser.get(LEVELS)
    stock_set(
        store=Store.objects.get(),
        medication=Medication.objects.get(pk=1),
        quantity=12,
        actor="till",
        reason="sale",
    )
    answer = browser.post(LEVELS, row_post(page, quantity_1="149", quantity_3="70"))
    assert answer.status_code == 200
    assert "there are 12 packs now" in answer.text
    assert StockLevel.objects.get(medication_id=1).quantity == 12
    assert StockLevel.objects.get(medication_id=3).quantity == 75  # nothing of the page was saved
    assert StockMove.objects.count() == 1
    assert (
        'value="1"' in answer.text.split(f'name="seen-{StockLevel.objects.get(medication_id=1).pk}"')[1][:20]
    )


def test_a_level_below_zero_or_too_high_is_refused(shelf: None, browser: Client) -> None:
    page = browser.get(LEVELS)
    for nonsense in ("-1", "1000001", "many", ""):
        assert browser.post(LEVELS, row_post(page, quantity_1=nonsense)).status_code == 200
    assert StockLevel.objects.get(medication_id=1).quantity == 150
    assert not StockMove.objects.exists()


def test_a_count_on_the_page_of_one_level_writes_a_movement(shelf: None, browser: Client) -> None:
    level = StockLevel.objects.get(medication_id=1)
    address = reverse("admin:inventory_stocklevel_change", args=[level.pk])
    form = {"quantity": "20", "restock_on": "", "low_threshold": "30", "initial-quantity": "150"}
    assert browser.post(address, {**form, "seen-" + str(level.pk): "7"}).status_code == 200  # never seen
    assert browser.post(address, form).status_code == 200
    assert not StockMove.objects.exists()
    assert browser.post(address, {**form, "seen-" + str(level.pk): "0"}).status_code == 302
    assert StockMove.objects.get().delta == -130
    assert LogEntry.objects.count() == 1


def test_a_new_level_starts_with_a_movement(shelf: None, browser: Client) -> None:
    Store.objects.create(pk=104, name_en="Jaffa, Tel Aviv")
    address = reverse("admin:inventory_stocklevel_add")
    form = {"store": "104", "medication": "1", "quantity": "3", "restock_on": "", "low_threshold": "10"}
    assert browser.post(address, form).status_code == 302
    assert StockLevel.objects.get(store_id=104).quantity == 3
    assert StockMove.objects.get().delta == 3
    assert browser.post(address, form).status_code == 200  # it is there already


def test_the_list_of_levels_can_be_filtered_and_searched(shelf: None, browser: Client) -> None:
    assert {row.medication_id for row in rows(browser.get(LEVELS, {"availability": "out"}))} == {2, 7}
    assert {row.medication_id for row in rows(browser.get(LEVELS, {"availability": "low"}))} == {
        4,
        40,
        41,
        42,
    }
    assert {row.medication_id for row in rows(browser.get(LEVELS, {"availability": "enough"}))} == {
        1,
        3,
        6,
        8,
    }
    assert [row.medication_id for row in rows(browser.get(LEVELS, {"q": "אדוויל"}))] == [1]
    assert {row.medication_id for row in rows(browser.get(LEVELS, {"q": "ibuprofen"}))} == {1, 7, 8}
    assert rows(browser.get(LEVELS, {"q": "%"})) == []
    assert rows(browser.get(LEVELS, {"q": "---"})) == []
    Store.objects.create(pk=104, name_en="Jaffa, Tel Aviv")
    StockLevel.objects.create(store_id=104, medication_id=1, quantity=1)
    assert len(rows(browser.get(LEVELS, {"store__id__exact": "104"}))) == 1


def test_movements_and_levels_cannot_be_removed(shelf: None, browser: Client) -> None:
    stock_set(
        store=Store.objects.get(),
        medication=Medication.objects.get(pk=1),
        quantity=1,
        actor="x",
        reason="count",
    )
    move, level = StockMove.objects.get(), StockLevel.objects.get(medication_id=1)
    assert browser.post(reverse("admin:inventory_stockmove_delete", args=[move.pk])).status_code == 403
    assert (
        browser.post(reverse("admin:inventory_stockmove_change", args=[move.pk]), {"delta": "5"}).status_code
        == 403
    )
    assert browser.get(reverse("admin:inventory_stockmove_add")).status_code == 403
    assert browser.post(reverse("admin:inventory_stocklevel_delete", args=[level.pk])).status_code == 403


@pytest.mark.parametrize(
    "model", ["medication", "stocklevel", "stockmove", "interaction", "ingredient", "category"]
)
def test_the_number_of_queries_does_not_grow_with_the_list(
    shelf: None,
    cast: Cast,
    browser: Client,
    model: str,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    def grow(start: int) -> None:
        for pk in range(start, start + 12):
            medication = cast(pk, f"Product {pk}", f"מוצר {pk}", ingredient=f"substance {pk}", packs=4)
            stock_set(store=Store.objects.get(), medication=medication, quantity=5, actor="x", reason="count")
            Category.objects.create(slug=f"c{pk}", name_en=f"Category {pk}")
        made = list(Ingredient.objects.filter(key__startswith="substance").order_by("pk"))
        for a, b in pairwise(made):
            Interaction.objects.get_or_create(ingredient_a=a, ingredient_b=b, defaults={"level": "avoid"})

    address = reverse(f"admin:inventory_{model}_changelist")
    grow(1000)
    browser.get(address)
    with django_assert_max_num_queries(100) as few:
        browser.get(address)
    grow(2000)
    with django_assert_max_num_queries(len(few)):
        assert browser.get(address).status_code == 200


def medication_post(browser: Client, pk: int, **changes: str) -> Any:
    """Send the form of a medication as the page shows it, with some values changed."""
    page = browser.get(reverse("admin:inventory_medication_change", args=[pk]))
    data: dict[str, Any] = {}
    forms = [page.context["adminform"].form]
    for inline in page.context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    for form in forms:
        for field in form:
            value = field.value()
            if value is not None and value is not False:
                data[field.html_name] = value
    return browser.post(reverse("admin:inventory_medication_change", args=[pk]), {**data, **changes})


def test_a_renamed_product_is_found_at_once(shelf: None, browser: Client) -> None:
    assert medication_post(browser, 3, name_en="Ulcerin", name_he="אולצרין").status_code == 302
    assert medication_resolve("אולצרין").medication.pk == 3
    assert medication_resolve("losec").medication.pk == 3
    with pytest.raises(MedicationNotFound):
        medication_resolve("omeprazole")
    with translation.override("he"):
        assert Medication.objects.get(pk=3).name == "אולצרין"


def test_a_new_alias_is_found_at_once_and_a_duplicate_is_refused(shelf: None, browser: Client) -> None:
    aliases = Medication.objects.get(pk=3).aliases.count()
    extra = {f"aliases-{aliases}-text": "Prilosec", f"aliases-{aliases}-medication": "3"}
    assert medication_post(browser, 3, **extra).status_code == 302
    assert medication_resolve("prilosec").medication.pk == 3
    again = {f"aliases-{aliases + 1}-text": "PRILOSEC®", f"aliases-{aliases + 1}-medication": "3"}
    answer = medication_post(browser, 3, **again)
    assert answer.status_code == 200
    assert "perhaps in another spelling" in answer.text


def test_a_deleted_product_is_removed_from_the_index(shelf: None, browser: Client) -> None:
    StockLevel.objects.filter(medication_id=41).delete()
    answer = browser.post(reverse("admin:inventory_medication_delete", args=[41]), {"post": "yes"})
    assert answer.status_code == 302
    assert not MedicationTerm.objects.filter(medication_id=41).exists()
    with pytest.raises(MedicationNotFound):
        medication_resolve("Café 100% Forte")


def test_products_are_found_by_the_new_name_of_an_ingredient(shelf: None, browser: Client) -> None:
    ingredient = Ingredient.objects.get(key="omeprazole")
    form = {"key": "omeprazole", "name_en": "Omeprazole", "classes": "[]", "assessed": "on"}
    inline = {"aliases-TOTAL_FORMS": "1", "aliases-INITIAL_FORMS": "0", "aliases-0-text": "omeprazolum"}
    address = reverse("admin:inventory_ingredient_change", args=[ingredient.pk])
    assert browser.post(address, {**form, **inline}).status_code == 302
    assert medication_resolve("omeprazolum", ingredients=True).medication.pk == 3
    # The name of one ingredient is refused for another, in words.
    other = Ingredient.objects.get(key="ibuprofen")
    inline["aliases-TOTAL_FORMS"] = "2"
    inline |= {
        "aliases-INITIAL_FORMS": "1",
        "aliases-0-id": str(IngredientAlias.objects.get(text="ibuprofenum").pk),
    }
    inline |= {
        "aliases-0-text": "ibuprofenum",
        "aliases-1-text": "Omeprazolum",
        "aliases-1-ingredient": str(other.pk),
    }
    inline |= {"aliases-0-ingredient": str(other.pk)}
    answer = browser.post(
        reverse("admin:inventory_ingredient_change", args=[other.pk]), {**form, "key": "ibuprofen", **inline}
    )
    assert answer.status_code == 200
    assert "already belongs to an ingredient" in answer.text


def test_an_interaction_is_stored_in_one_order_only(shelf: None, browser: Client) -> None:
    low, high = Ingredient.objects.order_by("pk")[:2]
    address = reverse("admin:inventory_interaction_add")
    form = {
        "ingredient_a": str(high.pk),
        "ingredient_b": str(low.pk),
        "level": "avoid",
        "source_text": "",
        "sources": "",
    }
    assert browser.post(address, form).status_code == 302
    assert Interaction.objects.get().ingredient_a == low
    swapped = {**form, "ingredient_a": str(low.pk), "ingredient_b": str(high.pk)}
    assert browser.post(address, swapped).status_code == 200
    assert browser.post(address, {**form, "ingredient_b": str(high.pk)}).status_code == 200
    assert Interaction.objects.count() == 1


@pytest.mark.parametrize("language", ["en", "he"])
def test_a_store_saved_in_the_admin_is_found_by_its_new_name(browser: Client, language: str) -> None:
    store = Store.objects.create(
        pk=104, name_en="Jaffa, Tel Aviv", name_he="יפו, תל אביב", lat=32.05, lng=34.75
    )
    browser.cookies["django_language"] = language
    assert browser.get(reverse("admin:stores_store_changelist")).status_code == 200
    assert browser.get(reverse("admin:stores_locality_changelist")).status_code == 200
    assert browser.get(reverse("admin:stores_locality_add")).status_code == 200
    page = browser.get(reverse("admin:stores_store_change", args=[104]))
    assert page.status_code == 200
    assert "googleapis" not in page.text
    data = {"name_en": "Old Jaffa, Tel Aviv", "name_he": "יפו, תל אביב", "kind": "branch", "is_active": "on"}
    data |= {"lat": "32.05", "lng": "34.75", "address_en": "", "address_he": "", "phone": ""}
    for inline in ("aliases", "hours", "exceptions"):
        data |= {f"{inline}-TOTAL_FORMS": "1", f"{inline}-INITIAL_FORMS": "0"}
    data |= {"aliases-0-text": "Yafo", "hours-TOTAL_FORMS": "0", "exceptions-TOTAL_FORMS": "0"}
    answer = browser.post(reverse("admin:stores_store_change", args=[104]), data)
    assert answer.status_code == 302, answer.context["errors"]
    for query in ("Old Jaffa", "yafo", "ביפו"):
        place = place_find(query)
        assert isinstance(place, StorePlace)
        assert place.store == store
    assert StoreAlias.objects.filter(store=store, derived=False).count() == 1
