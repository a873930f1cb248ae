"""The products around which the tests of names turn."""

from collections.abc import Callable

import pytest

from inventory.index import index_rebuild
from inventory.models import (
    Ingredient,
    IngredientAlias,
    Medication,
    MedicationAlias,
    MedicationIngredient,
    StockLevel,
)
from stores.models import Store

Cast = Callable[..., Medication]
HEBREW = {"ibuprofen": "איבופרופן", "paracetamol": "פרצטמול"}


@pytest.fixture
def cast(db: None) -> Cast:
    """Make a medication with all its rows; `packs` None is one that no store carries."""
    Store.objects.create(pk=1, name_en="Online store", kind=Store.Kind.ONLINE)

    def make(
        pk: int,
        en: str,
        he: str = "",
        *,
        aliases: tuple[str, ...] = (),
        ingredient: str = "",
        form: str = "tablet",
        strength: str = "",
        packs: int | None = 0,
        **fields: object,
    ) -> Medication:
        medication = Medication.objects.create(
            pk=pk, name_en=en, name_he=he or None, form=form, strength=strength, **fields
        )
        for alias in aliases:
            MedicationAlias.objects.create(medication=medication, text=alias)
        if ingredient:
            names = {"name_en": ingredient.capitalize(), "name_he": HEBREW.get(ingredient)}
            row, _created = Ingredient.objects.get_or_create(key=ingredient, defaults=names)
            MedicationIngredient.objects.create(medication=medication, ingredient=row, strength=strength)
        if packs is not None:
            StockLevel.objects.create(store_id=1, medication=medication, quantity=packs)
        return medication

    return make


@pytest.fixture
def shelf(cast: Cast) -> None:
    """The products around which the specification's examples turn."""
    cast(
        1,
        "Ibuprofen",
        "איבופרופן",
        aliases=("Advil", "אדוויל", "אדויל"),
        ingredient="ibuprofen",
        strength="200 mg",
        packs=150,
    )
    cast(
        2,
        "Amoxicillin",
        "אמוקסיצילין",
        aliases=("Moxypen", "מוקסיפן"),
        ingredient="amoxicillin",
        form="capsule",
        strength="500 mg",
    )
    cast(
        3,
        "Omeprazole",
        "אומפרזול",
        aliases=("Losec", "לוסק"),
        ingredient="omeprazole",
        form="capsule",
        strength="20 mg",
        packs=75,
    )
    cast(
        4,
        "Metformin",
        "מטפורמין",
        aliases=("Glucophage", "גלוקופאג'", "גלוקופז'"),
        ingredient="metformin",
        strength="500 mg",
        packs=5,
    )
    cast(
        6,
        "Paracetamol",
        "פרצטמול",
        aliases=("Acamol", "Tylenol", "אקמול", "acetaminophen"),
        ingredient="paracetamol",
        strength="500 mg",
        packs=40,
    )
    cast(7, "PainAway", "פיינאוויי", ingredient="ibuprofen", strength="200 mg")
    cast(8, "IbuTabs", "איבוטאבס", ingredient="ibuprofen", strength="200 mg", packs=25)
    cast(40, "Acamoli", "אקמולי", ingredient="paracetamol", form="syrup", strength="120 mg/5 mL", packs=9)
    cast(41, "Café 100% Forte", "", packs=3)
    cast(42, "50_50 Drops", "", form="drops", packs=3)
    ibuprofen = Ingredient.objects.get(key="ibuprofen")
    IngredientAlias.objects.create(ingredient=ibuprofen, text="ibuprofenum")
    index_rebuild(None)
